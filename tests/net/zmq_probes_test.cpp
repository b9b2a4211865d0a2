// How the kernel is told to find out that a peer is dead.
#include <map>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string>
#include <sys/socket.h>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "tests/support/net/wire_fixture.hpp"

BOOST_AUTO_TEST_SUITE(zmq_probes)

namespace {

using namespace kvc::net;
using namespace kvc::test;

struct probing {
  int idle_s = 0;
  int interval_s = 0;
  int count = 0;
};

int option(int descriptor, int level, int which) {
  int value = 0;
  socklen_t size = sizeof(value);
  return ::getsockopt(descriptor, level, which, &value, &size) == 0 ? value : 0;
}

/// Of this process's connections to `port` of this host, those that are probed.
std::vector<probing> probed_connections(int port) {
  constexpr int most_descriptors = 1'024;
  std::vector<probing> found;
  for (int each = 0; each < most_descriptors; ++each) {
    sockaddr_in peer{};
    socklen_t size = sizeof(peer);
    if (::getpeername(each, reinterpret_cast<sockaddr*>(&peer), &size) != 0 || peer.sin_family != AF_INET) continue;
    if (ntohs(peer.sin_port) != port || option(each, SOL_SOCKET, SO_KEEPALIVE) == 0) continue;
    found.push_back(
        {option(each, IPPROTO_TCP, TCP_KEEPIDLE), option(each, IPPROTO_TCP, TCP_KEEPINTVL), option(each, IPPROTO_TCP, TCP_KEEPCNT)});
  }
  return found;
}

asio::awaitable<void> compare_probes(wire& on) {
  constexpr std::size_t streams = 32;
  zmq_socket publisher = on.open(zmq_socket::kind::publisher);
  BOOST_TEST_REQUIRE(!publisher.bind("tcp://127.0.0.1:*"));
  std::vector<zmq_socket> beside;  // as streams do, which ask for replays
  const std::string endpoint = publisher.bound_endpoint();
  const int port = std::stoi(endpoint.substr(endpoint.rfind(':') + 1));
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
  const std::vector<probing> seen = probed_connections(port);
  BOOST_TEST(seen.size() == streams);
  std::map<int, std::size_t> by_rhythm;
  for (const probing& each : seen) {
    ++by_rhythm[each.idle_s];
    const int known_dead_after = each.idle_s + each.interval_s * each.count;
    BOOST_TEST(known_dead_after >= 20);
    BOOST_TEST(known_dead_after <= 22);
  }
  for (const auto& [rhythm, connections] : by_rhythm) BOOST_TEST(connections <= streams / 8, "every " << rhythm << " s");
}

}  // namespace

BOOST_AUTO_TEST_CASE(connections_are_not_all_probed_at_the_same_moment) {
  // With 1,000 streams from one host, probes in step overflowed the kernel's queue, the same ones every time, and connections in the best
  // of health were given up.
  wire on;
  on.run(compare_probes(on));
}

BOOST_AUTO_TEST_SUITE_END()
