#include "app/memory_reserve.hpp"

#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include <boost/test/unit_test.hpp>

#include "core/large_page.hpp"
#include "core/page_reserve.hpp"
#include "net/log.hpp"
#include "tests/support/no_page_reserve.hpp"

using namespace kvc;

namespace {

/// Whether the thread is through before the patience is; polled, as the service manager's note is.
bool is_through(const app::memory_reserve& reserve) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (reserve.missing() && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
  return !reserve.missing();
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(memory_reserve, test::no_page_reserve)

BOOST_AUTO_TEST_CASE(nothing_is_missing_where_nothing_is_wished_for) {
  const app::memory_reserve reserve(0);
  BOOST_TEST(!reserve.missing());
  BOOST_TEST(core::page_reserve_bytes() == 0U);
}

BOOST_AUTO_TEST_CASE(what_was_wished_for_lies_there_when_nothing_is_missing_any_more) {
  {
    const app::memory_reserve reserve(3 * core::large_page_bytes - 1);  // whole pages
    BOOST_TEST_REQUIRE(is_through(reserve));
    BOOST_TEST(core::page_reserve_bytes() == 3 * core::large_page_bytes);
  }
  BOOST_TEST(core::page_reserve_bytes() == 3 * core::large_page_bytes);  // for the index, which is still there
}

BOOST_AUTO_TEST_CASE(who_waits_is_told_how_far_it_is) {
  const app::memory_reserve reserve(std::size_t{64} << 20);
  const std::optional<std::string> missing = reserve.missing();
  if (missing) BOOST_TEST(missing->starts_with("memory is being reserved: "), *missing);
  BOOST_TEST(is_through(reserve));
}

BOOST_AUTO_TEST_CASE(no_more_is_taken_than_the_machine_can_spare) {
  // A petabyte would end the process, or somebody else's.
  constexpr std::uint64_t petabyte = std::uint64_t{1} << 50;
  {
    const app::memory_reserve reserve(petabyte, [] { return app::memory_reserve::least_left + 5 * core::large_page_bytes; });
    BOOST_TEST_REQUIRE(is_through(reserve));
    BOOST_TEST(core::page_reserve_bytes() == 5 * core::large_page_bytes);
  }
  empty();
  {
    const app::memory_reserve reserve(petabyte, [] { return std::uint64_t{0}; });
    BOOST_TEST_REQUIRE(is_through(reserve));
    BOOST_TEST(core::page_reserve_bytes() == 0U);
  }
}

BOOST_AUTO_TEST_CASE(a_stop_in_the_middle_is_told_as_one) {
  // "memory reserved" would read as if all of it were there.
  std::mutex writing;
  std::string told;
  net::log::set_sink([&](net::log::level, std::string_view line) {
    const std::lock_guard lock(writing);
    told.append(line).append("\n");
  });
  std::atomic<bool> is_ending = false;
  std::atomic<int> looks = 0;
  {
    const app::memory_reserve reserve(std::uint64_t{1} << 40, [&] {
      if (++looks == 2) is_ending.wait(false);
      return std::uint64_t{1} << 41;
    });
    while (looks < 2) std::this_thread::yield();
    is_ending = true;
    is_ending.notify_one();
  }
  net::log::set_sink({});

  BOOST_TEST(told.find("reserving memory was cut short bytes=") != std::string::npos, told);
  BOOST_TEST(told.find("memory reserved") == std::string::npos, told);
}

BOOST_AUTO_TEST_CASE(the_system_says_what_is_left) {
  const std::uint64_t left = app::memory_left();
  BOOST_TEST(left > 0U);
  BOOST_TEST(left < std::uint64_t{1} << 50);  // no machine that runs tests has that
}

BOOST_AUTO_TEST_SUITE_END()
