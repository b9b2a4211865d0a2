#include "net/line_budget.hpp"

#include <chrono>
#include <cstdint>

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(line_budget)

BOOST_AUTO_TEST_CASE(a_stream_that_has_too_much_to_say_is_told_of_in_numbers) {
  using namespace std::chrono_literals;
  kvc::net::line_budget budget;
  kvc::net::line_budget::time_point now{1h};
  const auto written_of = [&](int lines, std::chrono::milliseconds apart) {
    int written = 0;
    for (int i = 0; i < lines; ++i, now += apart) written += budget.take(now) ? 1 : 0;
    return written;
  };

  BOOST_TEST(written_of(60, 0ms) == 60);  // whatever happens to a sound stream is told at once
  BOOST_TEST(!budget.settle(now));
  BOOST_TEST(written_of(1'000, 1ms) == 0);
  BOOST_TEST(budget.has_kept_back());
  BOOST_TEST(!budget.settle(now));
  now += 4s;
  BOOST_TEST(budget.settle(now).value_or(0) == 1'000U);
  BOOST_TEST(!budget.has_kept_back());

  std::uint64_t told = 0;
  std::uint64_t missed = 0;
  for (int i = 0; i < 60'000; ++i, now += 1ms) {  // a minute of it
    if (!budget.take(now)) ++missed;
    if (const auto kept_back = budget.settle(now)) {
      ++told;
      missed -= *kept_back;
    }
  }
  BOOST_TEST(told == 11U);  // the first of them five seconds after the last one
  now += 5s;
  BOOST_TEST(budget.settle(now).value_or(0) == missed);

  now += 5min;  // quiet for long enough: all is as at first
  BOOST_TEST(written_of(100, 0ms) == 60);
}

BOOST_AUTO_TEST_CASE(a_line_each_five_seconds_may_go_on_for_ever) {
  using namespace std::chrono_literals;
  kvc::net::line_budget budget;
  kvc::net::line_budget::time_point now{1h};
  for (int i = 0; i < 10'000; ++i, now += 5s) BOOST_TEST_REQUIRE(budget.take(now));
}

BOOST_AUTO_TEST_SUITE_END()
