// The real server among very many clients.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <signal.h>
#include <string>
#include <sys/resource.h>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "tests/system/conductor_process.hpp"
#include "tests/system/local_socket.hpp"

using kvc::test::conductor_process;
using kvc::test::http_get;
using kvc::test::local_socket;

namespace {

constexpr std::size_t crowd = 10'000;
constexpr std::size_t own_descriptors = 200;  ///< what a process needs beside its connections

/// As many connections as both processes may hold, at most `crowd`.
std::size_t allowed_connections() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
  return std::min<std::size_t>(crowd, static_cast<std::size_t>(limit.rlim_cur) - own_descriptors);
}

/// Open connections of all lanes, by the server's own count.
std::size_t open_connections(std::uint16_t port) {
  const std::string metrics = http_get(port, "/metrics");
  const std::string name = "\nkvc_http_connections{";
  std::size_t sum = 0;
  for (std::size_t at = metrics.find(name); at != std::string::npos; at = metrics.find(name, at + 1)) {
    sum += static_cast<std::size_t>(std::strtod(metrics.c_str() + metrics.find('}', at) + 1, nullptr));
  }
  return sum;
}

template <class Condition>
bool eventually(Condition holds) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!holds()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
  }
  return true;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(crowd_of_clients)

BOOST_AUTO_TEST_CASE(ten_thousand_idle_connections_disturb_nobody) {
  // Gateways keep pools of connections that mostly do nothing; they must cost neither answers nor memory for ever.
  const std::size_t wanted = allowed_connections();
  BOOST_TEST_MESSAGE("opening " << wanted << " connections");
  conductor_process server;
  std::vector<local_socket> idle;
  idle.reserve(wanted);
  for (std::size_t i = 0; i < wanted; ++i) idle.push_back(local_socket::connect(server.port()));
  BOOST_TEST(eventually([&] { return open_connections(server.port()) >= wanted; }));

  for (int i = 0; i < 100; ++i) BOOST_TEST(http_get(server.port(), "/healthz").find("\"healthy\"") != std::string::npos);
  for (std::size_t i = 0; i < idle.size(); i += 500) {
    idle[i].send("GET /livez HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n");
    BOOST_TEST(idle[i].read_to_end().find("200 OK") != std::string::npos);
  }

  idle.clear();
  BOOST_TEST(eventually([&] { return open_connections(server.port()) < 10; }));
  server.send_signal(SIGTERM);
  BOOST_TEST(server.wait_for_end().value_or(-1000) == 0);  // the sanitizers would have made it something else
}

BOOST_AUTO_TEST_SUITE_END()
