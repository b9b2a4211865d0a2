// How long a stream that has failed is left alone.
#include "net/failure_pause.hpp"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(failure_pauses)

using kvc::net::failure_pause;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_CASE(each_is_longer_than_the_one_before_up_to_a_bound) {
  failure_pause pause(1s);
  for (const auto expected : {1s, 2s, 4s, 8s, 16s, 30s, 30s}) BOOST_TEST((pause.next(0s) == expected));
}

BOOST_AUTO_TEST_CASE(what_has_worked_for_long_begins_with_the_shortest) {
  failure_pause pause(1s);
  for (int i = 0; i < 5; ++i) (void)pause.next(30s);
  BOOST_TEST((pause.next(31s) == 1s));
  BOOST_TEST((pause.next(0s) == 2s));
}

BOOST_AUTO_TEST_CASE(a_shortest_one_above_the_usual_bound_is_kept) {
  failure_pause pause(1min);
  for (int i = 0; i < 3; ++i) BOOST_TEST((pause.next(0s) == 1min));
}

BOOST_AUTO_TEST_SUITE_END()
