// Listings by servers that give out pages twice, name tokens that go round, break off, answer nonsense, while objects are stored and
// deleted: what is known at the end is what was listed first or told last.
//
// KVC_PROPERTY_STREAMS sets how many listings there are, KVC_PROPERTY_SEED the first seed.
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/test/unit_test.hpp>

#include "tests/support/net/coordinator_fixture.hpp"
#include "tests/support/net/heard_log.hpp"
#include "tests/support/net/stub_mp_server.hpp"
#include "tests/support/setting.hpp"

BOOST_AUTO_TEST_SUITE(coordinator_resync_lives)

namespace {

using namespace kvc;
using told = test::stub_mp_server::told;

constexpr std::size_t most_objects = 60;
constexpr double complete = 2;

/// Every object has a salt of its own, so that listings of usage tell of it.
std::string salt_of(std::size_t object) {
  return "k" + std::to_string(object);
}
std::string key_of(std::size_t object) {
  return test::key_text(object % 2 == 0 ? "aa" : "", salt_of(object));
}

struct listed_page {
  std::vector<std::pair<std::size_t, std::uint64_t>> objects;  ///< with their sizes
  told answer;
  bool is_page = true;  ///< it can be understood
  bool names_another = true;
};

/// A server's listing: page `n` is asked for by the token `n` with some decoration.
struct listing_server {
  std::vector<listed_page> pages;
  bool is_complete = false;  ///< who asks it comes to an end
};

class resync_life {
 public:
  explicit resync_life(std::uint64_t seed) : random_(seed) {
    for (std::size_t i = 0; i < 1 + random_() % 3; ++i) servers_.push_back(make_server(random_() % 3 == 0));
  }

  /// Empty when all is well.
  std::string play() {
    test::coordinator_options options;
    options.coordinator.enable_startup_resync = true;
    options.coordinator.resync_poll_interval = std::chrono::milliseconds(5);
    options.coordinator.resync_page_size = 3;
    options.lanes = 1 + random_() % 2;
    const bool is_stopped = random_() % 5 == 0;
    std::optional<test::coordinator_fixture> service(std::in_place, options);
    service_ = &*service;
    std::vector<std::unique_ptr<test::stub_mp_server>> stubs;
    const auto join = [&](std::size_t number) {
      stubs.push_back(std::make_unique<test::stub_mp_server>(
          [this, number](const test::stub_mp_server::asked& request) { return answer_of(number, request); }));
      service->join("s" + std::to_string(number), stubs.back()->port());
    };
    for (std::size_t i = 0; i < servers_.size(); ++i) join(i);
    for (int i = 0; i < 10; ++i) tell();
    if (is_stopped) {  // wherever it is
      {
        const std::lock_guard telling(telling_);
        service_ = nullptr;
      }
      service.reset();
      return {};
    }
    bool has_end = false;
    for (const listing_server& each : servers_) has_end = has_end || each.is_complete;
    if (!has_end) {
      {
        const std::lock_guard locked(guard_);
        servers_.push_back(make_server(true));
      }
      join(servers_.size() - 1);
    }
    if (!service->reaches("kvc_coordinator_resync_state", complete)) return "it does not end";
    for (int i = 0; i < 5; ++i) tell();
    const std::lock_guard locked(guard_);
    if (service->metric("kvc_coordinator_resync_state") != complete) return "it gave up";
    if (service->metric("kvc_coordinator_resync_pages") != static_cast<double>(pages_)) return "pages are counted wrongly";
    return difference();
  }

 private:
  listing_server make_server(bool is_complete) {
    listing_server made;
    made.is_complete = is_complete;
    const std::size_t pages = 1 + random_() % 5;
    for (std::size_t i = 0; i < pages; ++i) {
      if (i != 0 && random_() % 4 == 0) {
        made.pages.push_back(made.pages[random_() % i]);  // the same under another token
      } else {
        made.pages.push_back(make_page());
      }
      listed_page& page = made.pages.back();
      std::string next = R"(,"next_page_token":"/)" + std::to_string(i + 1) + R"( +%26\u0041")";
      page.names_another = true;
      if (i + 1 == pages && is_complete) {
        next = random_() % 2 == 0 ? "" : R"(,"next_page_token":null)";
        page.names_another = false;
      } else if (i + 1 == pages && random_() % 2 == 0) {
        next = R"(,"next_page_token":"/)" + std::to_string(random_() % pages) + R"( +%26\u0041")";  // round it goes
      } else if (i + 1 == pages) {
        spoil(page);
      }
      if (page.is_page) page.answer.body = R"({"adapter":"fs","entries":[)" + entries_of(page) + "]" + next + "}";
    }
    return made;
  }
  listed_page make_page() {
    listed_page page;
    for (std::uint64_t left = random_() % 7; left != 0; --left) page.objects.emplace_back(random_() % most_objects, 1 + random_() % 1'000);
    return page;
  }
  std::string entries_of(const listed_page& page) {
    constexpr std::string_view bad[] = {"7", "null", "{}", R"({"key":{"chunk_hash_hex":"a","model_name":"m","kv_rank":0},"size_bytes":1})",
                                        R"({"key":{"chunk_hash_hex":"aa","model_name":"m"},"size_bytes":1})"};
    std::string text;
    for (const auto& [object, bytes] : page.objects) {
      if (!text.empty()) text += ",";
      if (random_() % 5 == 0) text += std::string(bad[random_() % std::size(bad)]) + ",";
      text += R"({"key":)" + key_of(object) + R"(,"size_bytes":)" + std::to_string(bytes) + "}";
    }
    return text;
  }
  void spoil(listed_page& page) {
    page.is_page = false;
    constexpr std::string_view nonsense[] = {"", "[]", "no JSON", R"({"entries":{}})", R"({"entries":[],"next_page_token":7})", "{}"};
    page.answer.body = nonsense[random_() % std::size(nonsense)];
    if (random_() % 4 == 0) page.answer = {.status = 503, .body = R"({"entries":[]})"};
    if (random_() % 4 == 0) page.answer = {.body = R"({"entries":[]})", .breaks_off = true};
    if (random_() % 4 == 0) page.answer = {.body = R"({"entries":[]})", .most_sent = random_() % 70};
  }

  told answer_of(std::size_t number, const test::stub_mp_server::asked& request) {
    // What is told while a page is on its way: the page is older.
    for (std::uint64_t left = chance(3); left != 0; --left) tell();
    const std::lock_guard locked(guard_);
    std::size_t page = 0;
    if (const std::size_t at = request.target.find("page_token=%2F"); at != std::string::npos)
      page = std::stoul(request.target.substr(at + 14));
    const listing_server& server = servers_.at(number);
    const listed_page& answered = server.pages.at(page < server.pages.size() ? page : 0);
    if (page >= server.pages.size()) return {.status = 400, .body = "{}"};
    if (!answered.is_page) return answered.answer;
    ++pages_;
    for (const auto& [object, bytes] : answered.objects) listed_.try_emplace(object, bytes);
    return answered.answer;
  }

  std::uint64_t chance(std::uint64_t most) {
    const std::lock_guard locked(guard_);
    return random_() % most;
  }
  /// One event, whose answer is waited for.
  void tell() {
    const std::lock_guard telling(telling_);
    if (service_ == nullptr) return;
    std::size_t object = 0;
    std::uint64_t bytes = 0;
    std::uint64_t what = 0;
    {
      const std::lock_guard locked(guard_);
      object = random_() % most_objects;
      bytes = 1 + random_() % 1'000;
      what = random_() % 3;
      if (what == 0) heard_[object] = bytes;
      if (what == 1) heard_[object] = 0;
    }
    const std::string type = what == 0 ? "store" : what == 1 ? "delete" : "lookup";
    service_->call("POST", "/quota/events",
                   R"({"instance_id":"s0","seq":1,"events":[{"type":")" + type + R"(","key":)" + key_of(object) + R"(,"bytes":)" +
                       std::to_string(bytes) + "}]}");
  }

  std::string difference() {
    std::map<std::string, std::uint64_t> wanted;
    for (const auto& [object, bytes] : listed_) wanted[salt_of(object)] = bytes;
    for (const auto& [object, bytes] : heard_) wanted[salt_of(object)] = bytes;
    std::erase_if(wanted, [](const auto& each) { return each.second == 0; });
    std::map<std::string, std::uint64_t> got;
    const auto list = test::json_of(service_->call("GET", "/quota"));
    for (const auto& each : list.at("by_cache_salt").as_array()) {
      got[std::string(each.at("cache_salt").as_string())] =
          static_cast<std::uint64_t>(std::llround(each.at("usage_gb").to_number<double>() * 1'073'741'824.0));
    }
    for (const auto& [salt, bytes] : wanted) {
      if (!got.contains(salt)) return salt + " is not known";
      if (got.at(salt) != bytes) return salt + " has " + std::to_string(got.at(salt)) + " bytes, not " + std::to_string(bytes);
    }
    for (const auto& [salt, bytes] : got) {
      if (!wanted.contains(salt)) return salt + " is known";
    }
    return {};
  }

  std::mutex telling_;  ///< one event at a time, so that their order is known
  std::mutex guard_;    ///< for all below
  std::mt19937_64 random_;
  std::vector<listing_server> servers_;
  std::map<std::size_t, std::uint64_t> listed_;  ///< as it was listed first
  std::map<std::size_t, std::uint64_t> heard_;   ///< as it was told last; 0: deleted
  std::size_t pages_ = 0;
  test::coordinator_fixture* service_ = nullptr;
};

}  // namespace

BOOST_AUTO_TEST_CASE(what_was_listed_first_or_told_last_is_known_at_the_end) {
  const std::uint64_t first = test::setting("KVC_PROPERTY_SEED", 606);
  const std::uint64_t lives = test::setting("KVC_PROPERTY_STREAMS", 12);
  BOOST_TEST_MESSAGE("seeds from " << first << ", " << lives << " listings");
  const test::heard_log log;
  for (std::uint64_t seed = first; seed < first + lives; ++seed) {
    const std::string wrong = resync_life(seed).play();
    BOOST_REQUIRE_MESSAGE(wrong.empty(), "seed " << seed << ": " << wrong);
  }
}

BOOST_AUTO_TEST_SUITE_END()
