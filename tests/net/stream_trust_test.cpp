// What the streams of one row come to together.
#include "net/stream_trust.hpp"

#include <string>

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(stream_trusts)

namespace {

using kvc::core::connection_state;
using kvc::core::stream_state;
using kvc::core::stream_status;

std::string heard(const kvc::net::stream_trust& trust) {
  std::string body;
  kvc::net::answer_writer out(body, kvc::net::wire_form::json);
  out.object(kvc::net::stream_trust::heard_members);
  trust.write_heard(out);
  out.end_object();
  return body;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_row_without_streams_vouches_for_nothing) {
  // An instance that nobody has registered has a row as well, when it is asked for by name.
  const kvc::net::stream_trust nobody;

  BOOST_TEST(nobody.state() == "unknown");
  BOOST_TEST(!nobody.is_whole());
  BOOST_TEST(nobody.newest_ns() == 0);
  BOOST_TEST(heard(nobody) == R"({"delay_ms":null,"unproven_absences":0,"connected":false,"generation":0})");
}

BOOST_AUTO_TEST_CASE(a_row_is_as_good_as_its_worst_stream) {
  // A rank with an engine and a store, one of which is late and has lost something: the other's health must not hide that.
  stream_status well;
  well.state = stream_state::whole;
  well.connection = connection_state::connected;
  well.generation = 3;
  well.last_applied_ns = 2'000;
  well.delay_ms = 5;
  stream_status ill;
  ill.state = stream_state::incomplete;
  ill.connection = connection_state::disconnected;
  ill.generation = 1;
  ill.missing = 7;
  ill.unproven = 2;
  ill.last_applied_ns = 1'000;
  ill.delay_ms = 900;
  for (const bool is_well_first : {false, true}) {
    kvc::net::stream_trust both;
    for (const stream_status* each : {is_well_first ? &well : &ill, is_well_first ? &ill : &well}) {
      both.add_doubts(*each);
      both.add_hearing(*each);
    }

    BOOST_TEST(both.state() == "incomplete");
    BOOST_TEST(!both.is_whole());
    BOOST_TEST(both.missing() == 7U);
    BOOST_TEST(both.newest_ns() == 2'000);
    BOOST_TEST(heard(both) == R"({"delay_ms":900,"unproven_absences":2,"connected":false,"generation":4})");
  }
}

BOOST_AUTO_TEST_CASE(what_a_shared_pool_lacks_counts_and_how_it_is_heard_does_not) {
  // Its blocks count for everybody, and its connection is not the instance's.
  stream_status own;
  own.state = stream_state::whole;
  own.connection = connection_state::connected;
  own.generation = 1;
  own.delay_ms = 0;
  stream_status pool;
  pool.state = stream_state::stale;
  pool.missing = 4;
  pool.generation = 9;
  pool.delay_ms = 70;
  kvc::net::stream_trust row;
  row.add_doubts(pool);
  row.add_doubts(own);
  row.add_hearing(own);

  BOOST_TEST(row.state() == "stale");
  BOOST_TEST(row.missing() == 4U);
  BOOST_TEST(heard(row) == R"({"delay_ms":0,"unproven_absences":0,"connected":true,"generation":1})");
}

BOOST_AUTO_TEST_SUITE_END()
