#include "net/connection_notes.hpp"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(notes_of_connections)

namespace {

using kvc::net::connection_notes;
using notice = connection_notes::notice;
using namespace std::chrono_literals;

const connection_notes::time_point start(1h);

}  // namespace

BOOST_AUTO_TEST_CASE(a_connection_counts_from_its_handshake_to_its_end) {
  connection_notes seen;
  seen.note(notice::begun, 7, start);
  BOOST_TEST(!seen.is_connected());
  seen.note(notice::agreed, 0, start);
  BOOST_TEST(seen.is_connected());
  BOOST_TEST(seen.connects() == 1U);
  seen.note(notice::ended, 7, start);
  BOOST_TEST(!seen.is_connected());
  BOOST_TEST(seen.disconnects() == 1U);
}

BOOST_AUTO_TEST_CASE(the_end_of_a_stranger_is_not_the_publishers) {
  // Whoever scans ports connects, says something else or nothing, and leaves.
  connection_notes seen;
  seen.note(notice::begun, 7, start);
  seen.note(notice::agreed, 0, start);
  seen.note(notice::begun, 8, start);
  seen.note(notice::ended, 8, start);
  BOOST_TEST(seen.is_connected());
  BOOST_TEST(seen.disconnects() == 0U);

  seen.note(notice::begun, 8, start);  // it stays this time
  seen.note(notice::ended, 7, start);
  seen.note(notice::begun, 7, start);  // the publisher again, with the same number
  seen.note(notice::agreed, 0, start);
  seen.note(notice::ended, 8, start);
  BOOST_TEST(seen.is_connected());
  BOOST_TEST(seen.disconnects() == 1U);
}

BOOST_AUTO_TEST_CASE(who_comes_between_the_publishers_connect_and_its_handshake_is_not_the_publisher) {
  // The handshake may be either's: as long as that cannot be told, an end is no break of a connection that still stands.
  connection_notes seen;
  seen.note(notice::begun, 7, start);
  seen.note(notice::begun, 8, start);  // says nothing
  seen.note(notice::agreed, 0, start);
  BOOST_TEST(seen.is_connected());
  BOOST_TEST(seen.connects() == 1U);

  seen.note(notice::ended, 8, start);
  BOOST_TEST(seen.is_connected());
  BOOST_TEST(seen.disconnects() == 0U);
  seen.note(notice::ended, 7, start);
  BOOST_TEST(!seen.is_connected());
  BOOST_TEST(seen.disconnects() == 1U);
}

BOOST_AUTO_TEST_CASE(a_break_that_was_not_sure_is_told_when_the_silent_one_leaves_too) {
  connection_notes seen;
  seen.note(notice::begun, 7, start);
  seen.note(notice::begun, 8, start);
  seen.note(notice::agreed, 0, start);
  seen.note(notice::ended, 7, start);
  BOOST_TEST(seen.disconnects() == 0U);

  seen.note(notice::begun, 9, start);  // the publisher again: this one is sure, as nobody else has begun since
  seen.note(notice::agreed, 0, start);
  BOOST_TEST(seen.connects() == 2U);
  seen.note(notice::ended, 8, start);
  BOOST_TEST(seen.disconnects() == 1U);
  BOOST_TEST(seen.is_connected());
  seen.note(notice::ended, 9, start);
  BOOST_TEST(seen.disconnects() == 2U);
  BOOST_TEST(!seen.is_connected());
}

BOOST_AUTO_TEST_CASE(handshakes_of_all_are_sure_again) {
  connection_notes seen;
  for (const std::int32_t each : {7, 8, 9}) seen.note(notice::begun, each, start);
  for (int i = 0; i < 3; ++i) seen.note(notice::agreed, 0, start);
  BOOST_TEST(seen.connects() == 3U);
  for (const std::int32_t each : {8, 7, 9}) seen.note(notice::ended, each, start);
  BOOST_TEST(seen.disconnects() == 3U);
  BOOST_TEST(!seen.is_connected());
}

BOOST_AUTO_TEST_CASE(an_end_without_another_try_is_for_good) {
  connection_notes seen;
  BOOST_TEST(!seen.has_given_up(start + 1h));  // it has not begun, the transport is at it
  seen.note(notice::begun, 7, start);
  seen.note(notice::ended, 7, start);
  BOOST_TEST(!seen.has_given_up(start));  // the other report may be on its way
  BOOST_TEST(seen.has_given_up(start + 1s));
  seen.note(notice::retry, 100, start);
  BOOST_TEST(!seen.has_given_up(start + 1h));
}

BOOST_AUTO_TEST_SUITE_END()
