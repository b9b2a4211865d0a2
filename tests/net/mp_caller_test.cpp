// Calls over a bounded number of connections: how long each of its parts may take.
#include "net/mp_caller.hpp"

#include <chrono>
#include <exception>
#include <optional>
#include <string>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/test/unit_test.hpp>

#include "tests/support/net/eventually.hpp"
#include "tests/support/net/stub_mp_server.hpp"

BOOST_AUTO_TEST_SUITE(mp_calls)

namespace {

using namespace kvc;
using namespace kvc::test;
using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;

/// A server that keeps everybody waiting, and one connection to it.
struct busy_fixture {
  busy_fixture() { server.hold(); }

  struct outcome {
    std::optional<net::result<net::http_client::answer>> answer;
    [[nodiscard]] bool is(const net::error_code& what) const { return answer && !*answer && answer->error() == what; }
  };

  /// The outcome outlives the call.
  void call(outcome& into, steady::duration patience, steady::time_point latest = net::mp_caller::never) {
    const auto told = [this, &into, patience, latest]() -> net::asio::awaitable<void> {
      into.answer = co_await calls.call("127.0.0.1", server.port(), "GET", "/", {}, patience, net::mp_caller::most_answer_bytes, latest);
    };
    net::asio::co_spawn(context, told, [](std::exception_ptr failed) { BOOST_TEST(!failed); });
  }
  /// Runs the context until so many requests have come to the server and so many calls wait for a connection.
  bool comes_to(std::size_t requests, std::size_t waiting) {
    return run_until(context, [&] { return server.so_far().size() == requests && calls.waiting() == waiting; });
  }

  stub_mp_server server;
  net::asio::io_context context{1};
  net::mp_caller calls{context.get_executor(), {.per_server = 1}};
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(an_exchange_has_its_time_from_when_it_has_a_connection, busy_fixture) {
  // What a server has been sent, it is doing: it would do it for nobody if the time spent in line counted.
  constexpr steady::duration patience = 2s;
  outcome first;
  outcome second;
  call(first, 20s);
  BOOST_REQUIRE(comes_to(1, 0));
  const steady::time_point begun = steady::now();
  call(second, patience);
  BOOST_REQUIRE(comes_to(1, 1));
  context.run_until(begun + patience / 2);
  server.cut();  // the first one's connection comes free
  BOOST_REQUIRE(comes_to(2, 0));
  BOOST_TEST(!first.answer->has_value());

  context.run_until(begun + patience + 1ms);
  server.resume();
  BOOST_REQUIRE(run_until(context, [&] { return second.answer.has_value(); }));
  BOOST_REQUIRE(second.answer->has_value());
  BOOST_TEST((*second.answer)->status == 200U);
}

BOOST_FIXTURE_TEST_CASE(a_connection_is_not_waited_for_beyond_its_own_time, busy_fixture) {
  outcome first;
  outcome second;
  call(first, 20s);
  BOOST_REQUIRE(comes_to(1, 0));
  call(second, 50ms);
  BOOST_REQUIRE(run_until(context, [&] { return second.answer.has_value(); }));
  BOOST_TEST(second.is(net::errc::timed_out));
  BOOST_TEST(server.so_far().size() == 1U, "it was never sent");
  BOOST_TEST(!first.answer.has_value());
  server.resume();
  BOOST_TEST(run_until(context, [&] { return first.answer.has_value(); }));
}

BOOST_FIXTURE_TEST_CASE(a_call_has_ended_when_the_latest_moment_has_come, busy_fixture) {
  // One of them at its exchange, the other one behind it.
  outcome first;
  outcome second;
  const steady::time_point latest = steady::now() + 50ms;
  call(first, 20s, latest);
  call(second, 20s, latest);
  BOOST_REQUIRE(run_until(context, [&] { return first.answer.has_value() && second.answer.has_value(); }));
  BOOST_TEST(first.is(net::errc::timed_out));
  BOOST_TEST(second.is(net::errc::timed_out));
}

BOOST_AUTO_TEST_SUITE_END()
