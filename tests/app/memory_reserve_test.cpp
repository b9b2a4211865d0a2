#include "app/memory_reserve.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <thread>

#include <boost/test/unit_test.hpp>

#include "core/large_page.hpp"
#include "core/page_reserve.hpp"

using namespace kvc;

namespace {

/// Whether the thread is through before the patience is; polled, as the service manager's note is.
bool is_through(const app::memory_reserve& reserve) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (reserve.missing() && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
  return !reserve.missing();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(memory_reserve)

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
  core::keep_page_reserve(0);
}

BOOST_AUTO_TEST_CASE(who_waits_is_told_how_far_it_is) {
  const app::memory_reserve reserve(std::size_t{64} << 20);
  const std::optional<std::string> missing = reserve.missing();
  if (missing) BOOST_TEST(missing->starts_with("memory is being reserved: "), *missing);
  BOOST_TEST(is_through(reserve));
  core::keep_page_reserve(0);
}

BOOST_AUTO_TEST_SUITE_END()
