// How the kernel probes the connections of this process.
#pragma once

#include <cstddef>
#include <map>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace kvc::test {

/// How a connection is.
struct probing {
  int idle_s = 0;
  int interval_s = 0;
  int count = 0;
};

inline int tcp_option(int descriptor, int level, int which) {
  int value = 0;
  socklen_t size = sizeof(value);
  return ::getsockopt(descriptor, level, which, &value, &size) == 0 ? value : 0;
}

/// Of this process's connections to `port` of this host, those that are probed.
inline std::vector<probing> probed_connections(int port) {
  constexpr int most_descriptors = 1'024;
  std::vector<probing> found;
  for (int each = 0; each < most_descriptors; ++each) {
    sockaddr_in peer{};
    socklen_t size = sizeof(peer);
    if (::getpeername(each, reinterpret_cast<sockaddr*>(&peer), &size) != 0 || peer.sin_family != AF_INET) continue;
    if (ntohs(peer.sin_port) != port || tcp_option(each, SOL_SOCKET, SO_KEEPALIVE) == 0) continue;
    found.push_back({tcp_option(each, IPPROTO_TCP, TCP_KEEPIDLE), tcp_option(each, IPPROTO_TCP, TCP_KEEPINTVL),
                     tcp_option(each, IPPROTO_TCP, TCP_KEEPCNT)});
  }
  return found;
}

/// To the publisher at `endpoint` there are so many connections; all are probed, not all at the same moment, and one whose peer is dead is
/// given up after 20 to 22 s.
inline void expect_probes(std::string_view endpoint, std::size_t streams) {
  const std::vector<probing> seen = probed_connections(std::stoi(std::string(endpoint.substr(endpoint.rfind(':') + 1))));
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

}  // namespace kvc::test
