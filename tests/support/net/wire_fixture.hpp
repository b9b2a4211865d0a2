// An engine and a lane for tests of sockets by themselves, without a stream behind them.
#pragma once

#include <array>
#include <chrono>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/test/unit_test.hpp>

#include "net/live_socket.hpp"
#include "net/zmq_socket.hpp"
#include "tests/support/net/side_task.hpp"

namespace kvc::test {

using wire_clock = std::chrono::steady_clock;

/// When to give up waiting for what should come at once.
inline wire_clock::time_point soon() {
  return wire_clock::now() + std::chrono::seconds(20);
}

template <class Message>
std::string text_of(const Message& message, std::size_t index) {
  const auto frame = message.frame(index);
  return {reinterpret_cast<const char*>(frame.data()), frame.size()};
}

/// An engine and a lane; runs coroutines to their end and rethrows what they throw.
struct wire {
  net::zmq_engine engine;
  net::chunk_pool chunks;
  boost::asio::io_context context{1};

  net::zmq_socket open(net::zmq_socket::kind what, net::zmq_options options = {}) {
    return {engine, context.get_executor(), what, options};
  }

  /// What a stream hears through: everything at `endpoint`.
  std::optional<net::live_socket> hear(std::string endpoint, bool bind = false) {
    net::live_options options;
    options.endpoint = std::move(endpoint);
    options.bind = bind;
    options.reconnect_ms = 5;
    options.reconnect_max_ms = 10;
    std::optional<net::live_socket> opened;
    BOOST_TEST_REQUIRE(!net::live_socket::open(opened, engine, context.get_executor(), chunks, options));
    return opened;
  }

  void run(boost::asio::awaitable<void> work) {
    std::exception_ptr failure;
    boost::asio::co_spawn(context, std::move(work), [&](std::exception_ptr thrown) {
      failure = thrown;
      if (failure) context.stop();  // sockets that are still open would keep it going
    });
    context.restart();
    context.run();
    if (failure) std::rethrow_exception(failure);
  }

  /// Runs `waiter` and, once it sleeps, does `what` to it. Whether that has ended it; `at_last` does otherwise.
  bool end_sleep(boost::asio::awaitable<void> waiter, const std::function<void(boost::asio::cancellation_signal&)>& what,
                 const std::function<void()>& at_last) {
    boost::asio::cancellation_signal signal;
    side_task waiting(context, std::move(waiter), signal.slot());
    const auto turns = [&] {
      for (int i = 0; i < 10 && !waiting.has_ended(); ++i) {
        context.restart();
        context.poll();
      }
    };
    turns();
    BOOST_TEST(!waiting.has_ended());
    what(signal);
    turns();
    const bool is_ended_by_that = waiting.has_ended();
    if (!is_ended_by_that) at_last();
    turns();
    BOOST_TEST(waiting.has_ended());
    return is_ended_by_that;
  }
};

/// One turn of the lane, so that other coroutines and the transport get on.
inline boost::asio::awaitable<void> one_turn() {
  const auto executor = co_await boost::asio::this_coro::executor;
  boost::asio::steady_timer timer(executor, std::chrono::milliseconds(1));
  co_await timer.async_wait(boost::asio::use_awaitable);
}

/// Binds a publisher where another one has just been: its listener closes in the background. Answers the endpoint.
inline boost::asio::awaitable<std::string> bind_after(net::zmq_socket& publisher, std::string endpoint) {
  net::error_code bound = publisher.bind(endpoint);
  const auto patience = soon();
  while (bound == net::errc::address_in_use && wire_clock::now() < patience) {
    co_await one_turn();
    bound = publisher.bind(endpoint);
  }
  BOOST_TEST_REQUIRE(!bound);
  co_return publisher.bound_endpoint();
}

/// A message, which may still be on its way. Errors: those of `wait`, and of what was received.
template <class Socket, class Message>
boost::asio::awaitable<net::error_code> receive(Socket& from, Message& into, wire_clock::time_point until) {
  for (;;) {
    const net::error_code tried = from.try_receive(into);
    if (tried != net::errc::would_block) co_return tried;
    (void)from.poll_connection();
    const net::error_code waited = co_await from.wait(until);
    if (waited) co_return waited;
  }
}

/// The same of a socket whose notices are somebody else's to read.
inline boost::asio::awaitable<net::error_code> receive(net::zmq_socket& from, net::zmq_message& into, wire_clock::time_point until) {
  return from.receive(into, until);
}

/// A publisher drops what it sends before a subscription has arrived: probes are published until one comes through, and the rest of them
/// is eaten.
template <class Message, class Socket>
boost::asio::awaitable<void> get_heard(net::zmq_socket& publisher, Socket& subscriber, std::string_view topic = "topic") {
  const std::array<std::string_view, 2> probe{topic, "probe"};
  const std::array<std::string_view, 2> last{topic, "probes end"};
  Message message;
  net::error_code received = net::errc::timed_out;
  const auto patience = soon();
  while (received && wire_clock::now() < patience) {
    BOOST_TEST_REQUIRE(!publisher.try_send(probe));
    const auto until = wire_clock::now() + std::chrono::milliseconds(5);
    received = co_await receive(subscriber, message, until);
  }
  BOOST_TEST_REQUIRE(!publisher.try_send(last));
  while (!received && text_of(message, 1) != "probes end") {
    const auto until = soon();
    received = co_await receive(subscriber, message, until);
  }
  BOOST_TEST_REQUIRE(!received);
}
inline boost::asio::awaitable<void> get_heard(net::zmq_socket& publisher, net::live_socket& subscriber) {
  return get_heard<net::live_message>(publisher, subscriber);
}

/// Binds `publisher` and connects `subscriber` to it, for all topics.
inline boost::asio::awaitable<void> join(net::zmq_socket& publisher, net::zmq_socket& subscriber) {
  BOOST_TEST(!publisher.bind("tcp://127.0.0.1:*"));
  BOOST_TEST(!subscriber.subscribe(""));
  const std::string endpoint = publisher.bound_endpoint();
  BOOST_TEST(!subscriber.connect(endpoint));
  co_await get_heard<net::zmq_message>(publisher, subscriber);
}

}  // namespace kvc::test
