#include "net/shortage_news.hpp"

#include <chrono>
#include <cstdint>
#include <vector>

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(shortage_news)

BOOST_AUTO_TEST_CASE(a_shortage_that_lasts_is_told_at_every_doubling_and_a_later_one_anew) {
  // Ten lines a second and lane would bury what the operator needs to see just then.
  using namespace std::chrono_literals;
  kvc::net::shortage_news news;
  kvc::net::shortage_news::time_point now{std::chrono::hours(1)};
  const auto told = [&](int shortages) {
    std::vector<std::uint64_t> times;
    for (int i = 0; i < shortages; ++i, now += 100ms) {
      if (const auto which = news.on_shortage(now)) times.push_back(*which);
    }
    return times;
  };

  BOOST_TEST(told(100) == (std::vector<std::uint64_t>{1, 2, 4, 8, 16, 32, 64}), boost::test_tools::per_element());
  now += 5s;  // a connection or two in between is no end of it
  BOOST_TEST(told(20).empty());
  now += 10s;
  BOOST_TEST(told(3) == (std::vector<std::uint64_t>{1, 2}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()
