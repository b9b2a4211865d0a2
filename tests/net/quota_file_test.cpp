// Saves that go wrong in ways no disk does, and what becomes of those that come with and after them.
#include "net/quota_file.hpp"

#include <array>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <new>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/test/unit_test.hpp>

#include "tests/support/net/eventually.hpp"
#include "tests/support/net/heard_log.hpp"
#include "tests/support/setting.hpp"
#include "tests/support/temporary_folder.hpp"

BOOST_AUTO_TEST_SUITE(quota_files)

namespace {

using namespace kvc;
namespace asio = boost::asio;

/// What a save came to.
struct outcome {
  bool has_ended = false;
  bool was_given_up = false;  ///< it threw
  std::optional<std::string> failed;
};

/// A file whose writing fails by an exception the first few times. Nothing reaches the disk.
struct file_fixture {
  asio::io_context lane{1};
  core::quota_table quotas;
  std::atomic<int> tries{0};
  std::atomic<int> last_failing{0};  ///< which of the tries throw
  std::vector<std::string> written;  ///< touched on the writer's thread, and by the test when nothing is under way
  net::quota_file file{lane.get_executor(), "/nowhere/quotas.json", [this](const std::string&, const std::string& text) {
                         if (++tries <= last_failing) throw std::bad_alloc();
                         written.push_back(text);
                         return std::optional<std::string>();
                       }};

  void save(outcome& into, asio::cancellation_slot slot = {}) {
    const auto told = [this, &into]() -> asio::awaitable<void> { into.failed = co_await file.save(quotas); };
    asio::co_spawn(lane, told, asio::bind_cancellation_slot(slot, [&into](const std::exception_ptr& thrown) {
                     into.has_ended = true;
                     into.was_given_up = thrown != nullptr;
                   }));
  }
  [[nodiscard]] bool ends(const outcome& which) {
    return test::run_until(lane, [&] { return which.has_ended; });
  }
};

/// Quotas of odd names, and limits from none to as much as a number may say.
void fill_at_random(core::quota_table& into, std::mt19937_64& random) {
  constexpr std::array<std::string_view, 8> pieces{"a", "\"", "\\", "\n", "\x7f", "\xC3\xA9", "\xF0\x9F\x98\x80", "{[,:]}"};
  for (std::uint64_t left = random() % 12; left != 0; --left) {
    std::string salt;
    while (random() % 3 != 0) salt += pieces[random() % pieces.size()];
    const double bytes = std::trunc(std::ldexp(static_cast<double>(random() >> 11), static_cast<int>(random() % 900) - 60));
    BOOST_REQUIRE(into.set(salt, random() % 5 == 0 ? 0 : bytes).has_value());
  }
  if (random() % 3 == 0) into.set_default_limit(static_cast<double>(random() % 1'000'000));
  if (random() % 3 == 0) into.set_default_limit(std::nullopt);
}

}  // namespace

BOOST_FIXTURE_TEST_CASE(a_file_is_read_as_it_was_written_or_not_at_all, file_fixture) {
  // Half of the quotas would have the objects of all other salts deleted.
  const std::uint64_t first = test::setting("KVC_PROPERTY_SEED", 8);
  const std::uint64_t files = test::setting("KVC_PROPERTY_STREAMS", 20);
  BOOST_TEST_MESSAGE("seeds from " << first << ", " << files << " files");
  const test::temporary_folder folder;
  const std::string path = folder.file("quotas.json");
  const net::quota_file read_back(lane.get_executor(), path);
  const test::heard_log log;
  const auto reads = [&](std::string_view text, core::quota_table& into) {
    std::ofstream(path, std::ios::binary) << text;
    return !read_back.load(into).has_value();
  };
  for (std::uint64_t seed = first; seed < first + files; ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      std::mt19937_64 random(seed);
      quotas = core::quota_table();
      fill_at_random(quotas, random);
      outcome saved;
      save(saved);
      BOOST_REQUIRE(ends(saved));
      const std::string text = written.back();
      core::quota_table back;
      BOOST_REQUIRE(reads(text, back));
      BOOST_TEST((back.all() == quotas.all()));
      BOOST_TEST((back.default_limit() == quotas.default_limit()));

      for (std::size_t cut = 0; cut + 1 < text.size(); ++cut) {  // without the last byte, an end of line, it is whole
        core::quota_table of_a_part;
        BOOST_TEST(!reads(std::string_view(text).substr(0, cut), of_a_part));
      }
      for (int i = 0; i < 50; ++i) {
        std::string odd = text;
        odd[random() % odd.size()] = static_cast<char>(random());
        core::quota_table of_that;
        if (!reads(odd, of_that)) continue;
        for (const auto& [salt, bytes] : of_that.all()) BOOST_TEST((std::isfinite(bytes) && bytes >= 0));
      }
    }
  }
}

BOOST_FIXTURE_TEST_CASE(a_save_that_throws_fails_for_those_it_was_for_and_the_next_one_works, file_fixture) {
  // The second writes for the third as well, which came while the first one wrote.
  last_failing = 2;
  outcome first;
  outcome second;
  outcome third;
  save(first);
  save(second);
  save(third);
  BOOST_REQUIRE(ends(first));
  BOOST_REQUIRE(ends(second));
  BOOST_REQUIRE(ends(third));
  for (const outcome* each : {&first, &second, &third}) {
    BOOST_TEST(each->failed.has_value());
    BOOST_TEST(!each->was_given_up, "it is an answer");
  }
  BOOST_TEST(tries.load() == 2);
  BOOST_TEST(file.failures() == 2U);

  outcome next;
  save(next);
  BOOST_REQUIRE(ends(next));
  BOOST_TEST(!next.failed.has_value());
  BOOST_TEST(written.size() == 1U);
}

BOOST_FIXTURE_TEST_CASE(a_save_whose_caller_is_cancelled_is_done_by_those_who_wait, file_fixture) {
  // More quotas than are written down in one turn, so that the first save is under way when its caller goes.
  for (int i = 0; i < 20'000; ++i) BOOST_REQUIRE(quotas.set("salt-" + std::to_string(i), 1024.0).has_value());
  asio::cancellation_signal leave;
  outcome gone;
  outcome waiting;
  save(gone, leave.slot());
  save(waiting);
  asio::post(lane, [&] { leave.emit(asio::cancellation_type::terminal); });
  BOOST_REQUIRE(ends(waiting));
  BOOST_REQUIRE(ends(gone));
  BOOST_TEST(gone.was_given_up);
  BOOST_TEST(!waiting.failed.has_value());
  BOOST_TEST(file.failures() == 0U);

  outcome next;
  save(next);
  BOOST_REQUIRE(ends(next));
  BOOST_TEST(!next.failed.has_value());
  BOOST_TEST(written.size() == 2U);
}

BOOST_AUTO_TEST_CASE(what_is_confirmed_is_on_the_disk_whatever_else_goes_wrong) {
  // Clients change quotas at the same time, the disk fails in every way there is, callers go; each client has a salt of its own, so that it
  // knows what must be there.
  const std::uint64_t first = test::setting("KVC_PROPERTY_SEED", 21);
  const std::uint64_t lives = test::setting("KVC_PROPERTY_STREAMS", 4);
  BOOST_TEST_MESSAGE("seeds from " << first << ", " << lives << " lives");
  const test::heard_log log;
  for (std::uint64_t seed = first; seed < first + lives; ++seed) {
    asio::io_context lane{1};
    std::mt19937_64 random(seed);
    std::mt19937_64 odd(seed + 1);  // the writer's
    std::mutex guard;
    std::string disk;  // what a crash at this moment would leave
    core::quota_table quotas;
    const bool is_odd = random() % 4 != 0;
    net::quota_file file(lane.get_executor(), "/nowhere/quotas.json", [&](const std::string&, const std::string& text) {
      const std::uint64_t what = is_odd ? odd() % 6 : 5;
      if (what == 0) throw std::bad_alloc();
      if (what == 1) return std::optional<std::string>("no room");
      const std::lock_guard locked(guard);
      disk = text;
      return what == 2 ? std::optional<std::string>("written, and then something went wrong") : std::nullopt;
    });
    for (int i = 0; i < 5'000; ++i) BOOST_REQUIRE(quotas.set("other-" + std::to_string(i), 1.0).has_value());  // more than a turn's
    std::string wrong;
    std::size_t under_way = 0;
    std::uint64_t failed = 0;
    const auto is_on_disk = [&](const std::string& salt, std::uint64_t gib) {
      const std::lock_guard locked(guard);
      return disk.find(R"({"cache_salt":")" + salt + R"(","limit_gb":)" + (gib == 0 ? "" : std::to_string(gib) + "}")) != std::string::npos;
    };
    const auto live = [&](std::string salt) -> asio::awaitable<void> {
      for (std::uint64_t number = 1; number <= 12; ++number) {
        const bool is_removed = number % 4 == 0;
        if (is_removed) {
          quotas.remove(salt);
        } else {
          (void)quotas.set(salt, core::quota_bytes_of_gib(static_cast<double>(number)).value());
        }
        const auto told = co_await file.save(quotas);
        if (told) {
          ++failed;
        } else if (is_removed == is_on_disk(salt, is_removed ? 0 : number)) {
          wrong = salt + " is confirmed and not there";
        }
      }
    };
    std::array<asio::cancellation_signal, 6> leaving;
    std::array<bool, 6> has_left{};
    for (std::size_t i = 0; i < leaving.size(); ++i) {
      ++under_way;
      asio::co_spawn(lane, live("salt-" + std::to_string(i)),
                     asio::bind_cancellation_slot(leaving[i].slot(), [&, i](const std::exception_ptr&) {
                       has_left[i] = true;
                       --under_way;
                     }));
    }
    while (under_way != 0) {
      const std::size_t who = random() % 3;  // the others stay
      if (random() % 30 == 0 && !has_left[who]) leaving[who].emit(asio::cancellation_type::terminal);
      BOOST_REQUIRE(test::run_until(lane, [steps = 0]() mutable { return ++steps > 1; }));
    }
    BOOST_REQUIRE_MESSAGE(wrong.empty(), "seed " << seed << ": " << wrong);
    BOOST_REQUIRE_MESSAGE(is_odd || failed == 0U, "seed " << seed << ": a failure of nobody's");
  }
}

BOOST_AUTO_TEST_CASE(a_write_that_breaks_off_leaves_the_file_as_it_was) {
  // At each step of the way to the new file: it cannot be begun, there is no room for it, it cannot take the name. And what a process that
  // died on the way has left behind is in nobody's way.
  const test::temporary_folder folder;
  const std::string path = folder.file("quotas.json");
  const test::heard_log log;
  asio::io_context lane{1};
  core::quota_table quotas;
  const auto saved = [&](double limit) {
    (void)quotas.set("a", limit);
    net::quota_file file(lane.get_executor(), path);
    std::optional<std::optional<std::string>> told;
    asio::co_spawn(lane, file.save(quotas),
                   [&](const std::exception_ptr&, std::optional<std::string> failed) { told = std::move(failed); });
    BOOST_REQUIRE(test::run_until(lane, [&] { return told.has_value(); }));
    return !*told;
  };
  const auto on_disk = [&] {
    core::quota_table back;
    BOOST_REQUIRE(!net::quota_file(lane.get_executor(), path).load(back));
    return back.find("a").value_or(-1);
  };
  BOOST_REQUIRE(saved(1));

  std::filesystem::create_directory(path + ".new");
  BOOST_TEST(!saved(2));
  BOOST_TEST(on_disk() == 1);
  std::filesystem::remove(path + ".new");

  std::filesystem::create_symlink("/dev/full", path + ".new");
  BOOST_TEST(!saved(3));
  BOOST_TEST(on_disk() == 1);
  BOOST_TEST(!std::filesystem::exists(std::filesystem::symlink_status(path + ".new")), "what is of no use is not left there");

  std::ofstream(path + ".new") << R"({"default_limit_gb":nu)";  // a process died while it wrote
  BOOST_TEST(on_disk() == 1);
  BOOST_TEST(saved(4));
  BOOST_TEST(on_disk() == 4);

  std::filesystem::rename(path, folder.file("elsewhere.json"));
  std::filesystem::create_directory(path);
  BOOST_TEST(!saved(5));
  BOOST_TEST(!std::filesystem::exists(path + ".new"));
}

BOOST_AUTO_TEST_SUITE_END()
