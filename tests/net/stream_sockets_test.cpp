// Streams for which the system has no socket at the moment: too many files, or too many sockets.
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "tests/support/net/payloads.hpp"
#include "tests/support/net/stream_fixture.hpp"

namespace {

using kvc::core::connection_state;
using kvc::core::stream_state;
using kvc::test::fake_publisher;
using kvc::test::stored_payload;
using kvc::test::tokens_from;

/// A stream takes three sockets, and a fourth while it asks for a replay: enough for two streams.
struct scarce_fixture : kvc::test::stream_fixture {
  scarce_fixture() : stream_fixture(kvc::test::quick_settings(), 8) {}

  kvc::net::zmq_engine others;  ///< the publishers have their own sockets
  fake_publisher publisher{others, context, {}};
  const std::vector<std::string> names{"a", "b", "c", "d"};

  void add_all() {
    publisher.publish(stored_payload({1}, {}, tokens_from(0, 1)));
    for (const auto& each : names) BOOST_TEST_REQUIRE(await(fleet.add(registration(publisher, each))).has_value());
  }
  [[nodiscard]] bool has_no_socket(const std::string& name) { return service(name)->status->connection.load() == connection_state::failed; }
  bool remove(const std::string& name) {
    return await(fleet.remove({.tenant = "default", .instance = name, .rank = {}, .kind = {}})).size() == 1;
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(stream_sockets)

BOOST_FIXTURE_TEST_CASE(a_stream_without_a_socket_says_so_and_gets_the_next_that_is_free, scarce_fixture) {
  add_all();
  BOOST_TEST_REQUIRE(eventually([&] { return has_no_socket("c") && has_no_socket("d"); }));
  BOOST_TEST((state("d") == stream_state::joining));

  BOOST_TEST_REQUIRE(remove("a"));
  BOOST_TEST_REQUIRE(remove("b"));

  for (const char* each : {"c", "d"}) {
    BOOST_TEST_REQUIRE(eventually([&] { return state(each) == stream_state::whole; }));
    BOOST_TEST(depth(tokens_from(0, 1), each) == 1U);
    BOOST_TEST(!has_no_socket(each));
  }
}

BOOST_FIXTURE_TEST_CASE(a_stream_without_a_socket_can_be_replaced_and_unregistered, scarce_fixture) {
  // Nobody would be able to get rid of it otherwise, and the service could not be stopped.
  add_all();
  BOOST_TEST_REQUIRE(eventually([&] { return has_no_socket("c") && has_no_socket("d"); }));

  BOOST_TEST(remove("d"));

  auto other = registration(publisher, "c");
  other.replay_endpoint.clear();
  BOOST_TEST_REQUIRE(await(fleet.add(other)).has_value());
  BOOST_TEST(remove("c"));
}

BOOST_AUTO_TEST_SUITE_END()
