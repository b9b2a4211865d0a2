// Where and how the transport's own threads run: what lanes that keep to their CPUs must not do to them.
#include <filesystem>
#include <sched.h>
#include <set>
#include <string>
#include <thread>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/test/unit_test.hpp>

#include "net/zmq_socket.hpp"

BOOST_AUTO_TEST_SUITE(transport_threads)

namespace {

using kvc::net::zmq_engine;
using kvc::net::zmq_socket;

std::set<int> tasks() {
  std::set<int> found;
  for (const auto& each : std::filesystem::directory_iterator("/proc/self/task")) found.insert(std::stoi(each.path().filename().string()));
  return found;
}

int cpus_of(int task) {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  return ::sched_getaffinity(task, sizeof(allowed), &allowed) == 0 ? CPU_COUNT(&allowed) : 0;
}

/// Keeps the calling thread to the first CPU it may use; false when it cannot.
bool keep_to_one_cpu() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (::sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return false;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed)) continue;
    CPU_ZERO(&allowed);
    CPU_SET(cpu, &allowed);
    break;
  }
  return ::sched_setaffinity(0, sizeof(allowed), &allowed) == 0;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_lane_that_keeps_to_its_cpu_does_not_keep_the_transport_there) {
  // libzmq starts its threads with the first socket, and threads begin with the CPUs of the thread that starts them.
  const int cpus = cpus_of(0);
  const std::set<int> before = tasks();
  zmq_engine engine;
  bool is_kept = false;
  std::thread lane([&] {
    is_kept = keep_to_one_cpu();
    boost::asio::io_context context{1};
    const zmq_socket first(engine, context.get_executor(), zmq_socket::kind::subscriber);
  });
  lane.join();
  BOOST_REQUIRE(is_kept);
  std::set<int> threads = tasks();
  for (const int old : before) threads.erase(old);
  BOOST_TEST(threads.size() >= 2U);  // one for its sockets, one that buries them
  for (const int each : threads) BOOST_TEST(cpus_of(each) == cpus);
}

BOOST_AUTO_TEST_SUITE_END()
