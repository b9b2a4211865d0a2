// How the kernel is told to find out that a peer is dead.
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "tests/support/net/link_fixture.hpp"
#include "tests/support/net/probed_connections.hpp"
#include "tests/support/net/wire_fixture.hpp"

BOOST_AUTO_TEST_SUITE(zmq_probes)

namespace {

using namespace kvc::net;
using namespace kvc::test;

asio::awaitable<void> compare_probes(wire& on) {
  constexpr std::size_t streams = 32;
  zmq_socket publisher = on.open(zmq_socket::kind::publisher);
  BOOST_TEST_REQUIRE(!publisher.bind("tcp://127.0.0.1:*"));
  std::vector<zmq_socket> beside;  // as streams do, which ask for replays
  const std::string endpoint = publisher.bound_endpoint();
  std::vector<zmq_socket> opened;
  for (std::size_t i = 0; i < streams; ++i) {
    opened.push_back(on.open(zmq_socket::kind::subscriber, {.watch_connection = true}));
    BOOST_TEST_REQUIRE(!opened.back().connect(endpoint));
    beside.push_back(on.open(zmq_socket::kind::dealer));
  }
  const auto patience = soon();
  for (zmq_socket& each : opened) {
    while (!each.poll_connection().connected && wire_clock::now() < patience) co_await one_turn();
  }
  expect_probes(endpoint, streams);
}

asio::awaitable<void> compare_probes_of_links(wire& on) {
  constexpr std::size_t streams = 32;
  zmq_socket publisher = on.open(zmq_socket::kind::publisher);
  BOOST_TEST_REQUIRE(!publisher.bind("tcp://127.0.0.1:*"));
  const std::string endpoint = publisher.bound_endpoint();
  std::vector<publisher_link> links;
  for (std::size_t i = 0; i < streams; ++i) {
    links.push_back(make_link(on));
    connect(links.back(), endpoint);
  }
  for (publisher_link& each : links) co_await learn(each, [](const connection_seen& seen) { return seen.connected; });
  expect_probes(endpoint, streams);
}

}  // namespace

BOOST_AUTO_TEST_CASE(connections_are_not_all_probed_at_the_same_moment) {
  // With 1,000 streams from one host, probes in step overflowed the kernel's queue, the same ones every time, and connections in the best
  // of health were given up.
  wire on;
  on.run(compare_probes(on));
}

BOOST_AUTO_TEST_CASE(connections_of_links_are_probed_as_those_of_the_transport) {
  wire on;
  on.run(compare_probes_of_links(on));
}

BOOST_AUTO_TEST_SUITE_END()
