#include <chrono>
#include <cstdint>
#include <future>
#include <string>
#include <utility>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/address_v4.hpp>
#include <boost/asio/ip/udp.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/test/unit_test.hpp>

#include "net/task_scope.hpp"
#include "net/zmq_socket.hpp"
#include "perf/sim_chaos_world.hpp"

using namespace kvc;
using namespace std::chrono_literals;
namespace asio = boost::asio;

BOOST_AUTO_TEST_SUITE(chaos_ports)

// Two simulators whose port numbers came to run side by side gave one port to two publishers, one of which the conductor had not bound
// yet; both then heard the other's batches, and failed seeds that were right.
BOOST_AUTO_TEST_CASE(a_publishers_ports_are_marked_as_taken_for_other_simulators_as_long_as_it_lives) {
  asio::io_context io;
  net::zmq_engine engine;
  net::task_scope tasks(io.get_executor());
  const auto finish = [&io](auto&& task) {
    auto done = asio::co_spawn(io, std::forward<decltype(task)>(task), asio::use_future);
    io.restart();
    while (done.wait_for(0s) != std::future_status::ready) io.run_one_for(1s);
    return done.get();
  };
  const auto is_marked = [&io](const std::string& endpoint) {
    const auto port = static_cast<std::uint16_t>(std::stoul(endpoint.substr(endpoint.rfind(':') + 1)));
    asio::ip::udp::socket other(io, asio::ip::udp::v4());
    boost::system::error_code taken;
    other.bind({asio::ip::address_v4::loopback(), port}, taken);
    return taken.failed();
  };
  std::string endpoint;

  {
    sim::chaos_world world(7, "ports", engine, io.get_executor(), tasks);
    sim::chaos_publisher& publisher = *world.members.front().publisher;
    BOOST_REQUIRE_EQUAL(finish(publisher.open("127.0.0.1")), "");
    endpoint = publisher.endpoint();
    BOOST_TEST(is_marked(endpoint));
    BOOST_TEST((publisher.replay_endpoint().empty() || is_marked(publisher.replay_endpoint())));
    const auto end = [&]() -> asio::awaitable<bool> {
      publisher.close();
      tasks.cancel(asio::cancellation_type::terminal);
      co_return co_await tasks.wait(30s);
    };
    BOOST_TEST(finish(end()));
  }

  BOOST_TEST(!is_marked(endpoint));
}

BOOST_AUTO_TEST_SUITE_END()
