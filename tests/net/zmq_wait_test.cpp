// How waits for a socket end, and what they leave there.
#include <array>
#include <exception>
#include <functional>

#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/test/unit_test.hpp>

#include "tests/support/net/wire_fixture.hpp"

BOOST_AUTO_TEST_SUITE(zmq_waits)

namespace {

using namespace kvc::net;
using namespace kvc::test;
using namespace std::chrono_literals;
using clock_type = std::chrono::steady_clock;

asio::awaitable<void> wait_without_taking(wire& on) {
  zmq_socket publisher = on.open(zmq_socket::kind::publisher);
  zmq_socket subscriber = on.open(zmq_socket::kind::subscriber);
  co_await join(publisher, subscriber);

  const auto begun = clock_type::now();
  const auto shortly = begun + 30ms;
  const error_code nothing = co_await subscriber.wait(shortly);
  BOOST_TEST(nothing == make_error_code(errc::timed_out));
  BOOST_TEST((clock_type::now() >= shortly));

  const std::array<std::string_view, 2> frames{"topic", "payload"};
  BOOST_TEST(!publisher.try_send(frames));
  zmq_message message;
  const auto until = soon();
  for (int i = 0; i < 3; ++i) {  // as often as anybody asks
    const error_code there = co_await subscriber.wait(until);
    BOOST_TEST(!there);
  }
  BOOST_TEST(!subscriber.try_receive(message));
  BOOST_TEST(text_of(message, 1) == "payload");
  message.clear();
  BOOST_TEST(message.size() == 0U);
  BOOST_TEST(!publisher.try_send(frames));
  const error_code another = co_await subscriber.receive(message, until);  // into the same, as if nothing had been in it
  BOOST_TEST(!another);
  BOOST_TEST(message.size() == 2U);
  subscriber.close();
  const error_code closed = co_await subscriber.wait(until);
  BOOST_TEST(closed == make_error_code(errc::closed));
}

asio::awaitable<void> wait_in_vain(wire& on) {
  zmq_socket subscriber = on.open(zmq_socket::kind::subscriber);
  BOOST_TEST(!subscriber.connect("tcp://127.0.0.1:1"));
  zmq_message message;
  const auto until = clock_type::now() + 30ms;
  const error_code waited = co_await subscriber.receive(message, until);
  BOOST_TEST(waited == make_error_code(errc::timed_out));
  BOOST_TEST((clock_type::now() >= until));
  const error_code late = co_await subscriber.receive(message, until);
  BOOST_TEST(late == make_error_code(errc::timed_out));
}

asio::awaitable<void> wait_for_notices(wire& on) {
  zmq_socket subscriber = on.open(zmq_socket::kind::subscriber, {.reconnect_ms = 5, .reconnect_max_ms = 10, .watch_connection = true});
  BOOST_TEST(!subscriber.has_notices());
  const auto patience = soon();
  const auto hear_that = [&](bool connected) -> asio::awaitable<void> {
    // Other notices come in between: of every try to connect.
    while (subscriber.poll_connection().connected != connected) {
      BOOST_TEST_REQUIRE(!co_await subscriber.wait(patience));
      BOOST_TEST_REQUIRE(subscriber.has_notices());
    }
    BOOST_TEST(!subscriber.has_notices());
  };
  std::string endpoint = "tcp://127.0.0.1:*";
  for (std::uint64_t life = 1; life <= 3; ++life) {
    zmq_socket publisher = on.open(zmq_socket::kind::publisher);
    endpoint = co_await bind_after(publisher, endpoint);
    if (life == 1) BOOST_TEST(!subscriber.connect(endpoint));
    co_await hear_that(true);
    publisher.close();
    co_await hear_that(false);
    BOOST_TEST(subscriber.poll_connection().disconnects == life);
  }
}

/// Who does not ask for notices is not kept awake by them.
asio::awaitable<void> receive_beside_notices(wire& on) {
  zmq_socket publisher = on.open(zmq_socket::kind::publisher);
  zmq_socket subscriber = on.open(zmq_socket::kind::subscriber, {.watch_connection = true});
  co_await join(publisher, subscriber);
  zmq_message message;
  const auto patience = soon();
  while (!subscriber.has_notices() && clock_type::now() < patience) (void)co_await subscriber.receive(message, clock_type::now() + 10ms);
  BOOST_TEST_REQUIRE(subscriber.has_notices());
  const auto until = clock_type::now() + 30ms;
  const error_code nothing = co_await subscriber.receive(message, until);
  BOOST_TEST(nothing == make_error_code(errc::timed_out));
  BOOST_TEST((clock_type::now() >= until));
  BOOST_TEST(subscriber.poll_connection().connected);
}

asio::awaitable<void> wait_forever(zmq_socket& on, error_code& ended) {
  co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
  co_await asio::this_coro::throw_if_cancelled(false);
  zmq_message message;
  ended = co_await on.receive(message, clock_type::time_point::max());
  error_code again;
  again = co_await on.receive(message, clock_type::time_point::max());  // a cancelled coroutine must not go to sleep again
  BOOST_TEST(again == ended);
}

/// Runs `wait_forever` and, once it sleeps, does `what` to it.
error_code end_wait(wire& on, zmq_socket& socket, const std::function<void(asio::cancellation_signal&)>& what) {
  error_code ended;
  BOOST_TEST(on.end_sleep(wait_forever(socket, ended), what, [&socket] { socket.close(); }));
  return ended;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_wait_ends_at_its_deadline) {
  // Every await of a peer must end by itself.
  wire on;
  on.run(wait_in_vain(on));
}

BOOST_AUTO_TEST_CASE(a_wait_for_something_takes_nothing) {
  // Idle streams sleep this way: what they are woken for must still be there.
  wire on;
  on.run(wait_without_taking(on));
}

BOOST_AUTO_TEST_CASE(a_wait_ends_for_what_is_told_of_the_connection) {
  // A stream at rest looks once a minute; that its publisher has gone it hears at once.
  wire on;
  on.run(wait_for_notices(on));
}

BOOST_AUTO_TEST_CASE(notices_nobody_reads_keep_nobody_awake) {
  wire on;
  on.run(receive_beside_notices(on));
}

BOOST_AUTO_TEST_CASE(a_wait_ends_when_cancelled_gently) {
  // Shutdown starts with total cancellation; a sleeping stream must notice and must not fall asleep again.
  wire on;
  zmq_socket dealer = on.open(zmq_socket::kind::dealer);
  const auto cancel = [](asio::cancellation_signal& signal) { signal.emit(asio::cancellation_type::total); };
  BOOST_TEST(end_wait(on, dealer, cancel) == make_error_code(errc::cancelled));
}

BOOST_AUTO_TEST_CASE(a_wait_ends_when_the_socket_is_closed) {
  // Whoever owns the socket may close it under a waiting coroutine.
  wire on;
  zmq_socket dealer = on.open(zmq_socket::kind::dealer);
  const auto close = [&dealer](asio::cancellation_signal&) { dealer.close(); };
  BOOST_TEST(end_wait(on, dealer, close) == make_error_code(errc::closed));
}

BOOST_AUTO_TEST_SUITE_END()
