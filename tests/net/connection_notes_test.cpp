#include "net/connection_notes.hpp"

#include <boost/test/unit_test.hpp>

namespace {

using kvc::net::connection_notes;
using notice = connection_notes::notice;
using namespace std::chrono_literals;

const connection_notes::time_point start(1h);

}  // namespace

BOOST_AUTO_TEST_SUITE(notes_of_connections)

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
