#include "net/zmq_socket.hpp"

#include <array>
#include <exception>
#include <functional>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/test/unit_test.hpp>

namespace {

using namespace kvc::net;
using namespace std::chrono_literals;
using clock_type = std::chrono::steady_clock;

clock_type::time_point soon() {
  return clock_type::now() + 20s;
}

std::string text_of(const zmq_message& message, std::size_t index) {
  const auto frame = message.frame(index);
  return {reinterpret_cast<const char*>(frame.data()), frame.size()};
}

/// An engine and a lane; runs coroutines to their end and rethrows what they throw.
struct wire {
  zmq_engine engine;
  asio::io_context context{1};

  zmq_socket open(zmq_socket::kind what, zmq_options options = {}) { return {engine, context.get_executor(), what, options}; }

  void run(asio::awaitable<void> work) {
    std::exception_ptr failure;
    asio::co_spawn(context, std::move(work), [&failure](std::exception_ptr thrown) { failure = thrown; });
    context.restart();
    context.run();
    if (failure) std::rethrow_exception(failure);
  }
};

/// One turn of the lane, so that other coroutines and the transport get on.
asio::awaitable<void> one_turn() {
  const auto executor = co_await asio::this_coro::executor;
  asio::steady_timer timer(executor, 1ms);
  co_await timer.async_wait(asio::use_awaitable);
}

/// A publisher drops what it sends before a subscription has arrived: publishes probes until one comes through, then eats the rest.
asio::awaitable<void> join(zmq_socket& publisher, zmq_socket& subscriber) {
  const std::array<std::string_view, 1> probe{"probe"};
  const std::array<std::string_view, 1> last{"probes end"};
  zmq_message message;
  error_code received = errc::timed_out;
  const auto patience = soon();
  while (received && clock_type::now() < patience) {
    BOOST_TEST(!publisher.try_send(probe));
    const auto until = clock_type::now() + 5ms;
    received = co_await subscriber.receive(message, until);
  }
  BOOST_TEST(!publisher.try_send(last));
  while (!received && text_of(message, 0) != "probes end") {
    const auto until = soon();
    received = co_await subscriber.receive(message, until);
  }
  BOOST_TEST(!received);
}

asio::awaitable<void> exchange_published(wire& on) {
  zmq_socket publisher = on.open(zmq_socket::kind::publisher);
  zmq_socket subscriber = on.open(zmq_socket::kind::subscriber);
  BOOST_TEST(!publisher.bind("tcp://127.0.0.1:*"));
  BOOST_TEST(!subscriber.subscribe(""));
  const std::string endpoint = publisher.bound_endpoint();
  BOOST_TEST(!subscriber.connect(endpoint));
  co_await join(publisher, subscriber);

  const std::string payload(100'000, 'p');
  const std::array<std::string_view, 3> frames{"topic", std::string_view("\0\0\0\0\0\0\0\7", 8), payload};
  BOOST_TEST(!publisher.try_send(frames));
  zmq_message message;
  const auto until = soon();
  const error_code received = co_await subscriber.receive(message, until);

  BOOST_TEST(!received);
  BOOST_REQUIRE(message.size() == 3U);
  BOOST_TEST(text_of(message, 0) == "topic");
  BOOST_TEST(message.frame(1).size() == 8U);
  BOOST_TEST(text_of(message, 2) == payload);
  BOOST_TEST(subscriber.try_receive(message) == make_error_code(errc::would_block));
}

asio::awaitable<void> wait_without_taking(wire& on) {
  zmq_socket publisher = on.open(zmq_socket::kind::publisher);
  zmq_socket subscriber = on.open(zmq_socket::kind::subscriber);
  BOOST_TEST(!publisher.bind("tcp://127.0.0.1:*"));
  BOOST_TEST(!subscriber.subscribe(""));
  const std::string endpoint = publisher.bound_endpoint();
  BOOST_TEST(!subscriber.connect(endpoint));
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

asio::awaitable<void> exchange_requests(wire& on) {
  zmq_socket router = on.open(zmq_socket::kind::router);
  zmq_socket dealer = on.open(zmq_socket::kind::dealer);
  BOOST_TEST(!router.bind("tcp://127.0.0.1:*"));
  const std::string endpoint = router.bound_endpoint();
  BOOST_TEST(!dealer.connect(endpoint));

  const std::array<std::string_view, 2> request{"", "12345678"};
  const auto until = soon();
  const error_code sent = co_await dealer.send(request, until);
  BOOST_TEST(!sent);
  zmq_message asked;
  const error_code heard = co_await router.receive(asked, until);
  BOOST_TEST(!heard);
  BOOST_REQUIRE(asked.size() == 3U);
  BOOST_TEST(text_of(asked, 2) == "12345678");
  const std::string identity = text_of(asked, 0);
  const std::array<std::string_view, 4> reply{identity, "", "87654321", "answer"};
  BOOST_TEST(!router.try_send(reply));
  zmq_message answer;
  const error_code received = co_await dealer.receive(answer, until);

  BOOST_TEST(!received);
  BOOST_REQUIRE(answer.size() == 3U);
  BOOST_TEST(text_of(answer, 2) == "answer");
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
  asio::cancellation_signal signal;
  error_code ended;
  bool over = false;
  asio::co_spawn(on.context, wait_forever(socket, ended), asio::bind_cancellation_slot(signal.slot(), [&over](std::exception_ptr thrown) {
                   BOOST_TEST(!thrown);
                   over = true;
                 }));
  on.context.restart();
  on.context.poll();
  BOOST_TEST(!over);
  what(signal);
  on.context.restart();
  on.context.run_for(20s);
  BOOST_TEST(over);
  return ended;
}

constexpr int burst = 10'000;

asio::awaitable<void> publish_burst(zmq_socket& publisher) {
  for (int i = 0; i < burst; ++i) {
    const std::string number = std::to_string(i);
    const std::array<std::string_view, 2> frames{"burst", number};
    BOOST_TEST_REQUIRE(!publisher.try_send(frames));
    if (i % 257 == 0) co_await one_turn();  // an odd rhythm: the receiver sleeps at many different fill levels
  }
}

asio::awaitable<void> receive_burst(zmq_socket& subscriber, int& count) {
  zmq_message message;
  const auto until = clock_type::now() + 60s;
  while (count < burst) {
    const error_code received = co_await subscriber.receive(message, until);
    BOOST_TEST_REQUIRE(!received);
    BOOST_TEST_REQUIRE(message.size() == 2U);
    BOOST_TEST_REQUIRE(text_of(message, 1) == std::to_string(count));
    ++count;
  }
}

constexpr zmq_options watching{.reconnect_ms = 5, .reconnect_max_ms = 10, .watch_connection = true};

/// Binds a publisher where another one has just been: its listener closes in the background. Answers the endpoint.
asio::awaitable<std::string> bind_after(zmq_socket& publisher, std::string endpoint) {
  error_code bound = publisher.bind(endpoint);
  const auto patience = soon();
  while (bound == errc::address_in_use && clock_type::now() < patience) {
    co_await one_turn();
    bound = publisher.bind(endpoint);
  }
  BOOST_TEST_REQUIRE(!bound);
  co_return publisher.bound_endpoint();
}

/// A publisher that sends until its first message is heard (who connects while it is away has not subscribed yet), and `further` more.
asio::awaitable<void> speak_until_heard(zmq_socket& publisher, zmq_socket& subscriber, zmq_message& message, int further) {
  const std::array<std::string_view, 2> frames{"topic", "text"};
  const auto patience = soon();
  error_code heard = errc::would_block;
  while (heard && clock_type::now() < patience) {
    BOOST_TEST_REQUIRE(!publisher.try_send(frames));
    heard = co_await subscriber.receive(message, clock_type::now() + 10ms);
  }
  BOOST_TEST_REQUIRE(!heard);
  for (int i = 0; i < further; ++i) BOOST_TEST_REQUIRE(!publisher.try_send(frames));
}

asio::awaitable<void> hear_of_successor(wire& on) {
  zmq_socket subscriber = on.open(zmq_socket::kind::subscriber, watching);
  BOOST_TEST(!subscriber.subscribe(""));
  zmq_message message;
  std::string endpoint = "tcp://127.0.0.1:*";
  for (std::uint64_t life = 1; life <= 3; ++life) {
    zmq_socket publisher = on.open(zmq_socket::kind::publisher);
    endpoint = co_await bind_after(publisher, endpoint);
    if (life == 1) BOOST_TEST_REQUIRE(!subscriber.connect(endpoint));
    constexpr int further = 100;
    co_await speak_until_heard(publisher, subscriber, message, further);
    BOOST_TEST(!subscriber.is_of_same_connection(message));
    const auto seen = subscriber.poll_connection();
    BOOST_TEST(seen.connects == life);
    BOOST_TEST(seen.disconnects == life - 1);
    for (int i = 0; i < further; ++i) {
      BOOST_TEST_REQUIRE(!co_await subscriber.receive(message, soon()));
      BOOST_TEST(subscriber.is_of_same_connection(message));
    }
    error_code more;
    while (!more) more = subscriber.try_receive(message);
  }
}

asio::awaitable<void> watch_peer(wire& on) {
  zmq_socket subscriber = on.open(zmq_socket::kind::subscriber, watching);
  BOOST_TEST(!subscriber.poll_connection().connected);
  std::string endpoint = "tcp://127.0.0.1:*";
  for (std::uint64_t life = 1; life <= 2; ++life) {
    zmq_socket publisher = on.open(zmq_socket::kind::publisher);
    endpoint = co_await bind_after(publisher, endpoint);
    if (life == 1) BOOST_TEST(!subscriber.connect(endpoint));
    const auto patience = soon();
    while (!subscriber.poll_connection().connected && clock_type::now() < patience) co_await one_turn();
    BOOST_TEST(subscriber.poll_connection().connected);
    BOOST_TEST(subscriber.poll_connection().connects == life);
    publisher.close();
    while (subscriber.poll_connection().connected && clock_type::now() < patience) co_await one_turn();
    BOOST_TEST(!subscriber.poll_connection().connected);
    BOOST_TEST(subscriber.poll_connection().disconnects == life);
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(zmq_sockets)

BOOST_AUTO_TEST_CASE(a_published_message_arrives_frame_by_frame) {
  // The live path of every engine.
  wire on;
  on.run(exchange_published(on));
}

BOOST_AUTO_TEST_CASE(a_request_is_answered_through_router_and_dealer) {
  // The replay path.
  wire on;
  on.run(exchange_requests(on));
}

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

BOOST_AUTO_TEST_CASE(a_message_of_a_successor_never_comes_before_the_news_of_it) {
  // A stream must know that its publisher was away before it believes the next number.
  wire on;
  on.run(hear_of_successor(on));
}

BOOST_AUTO_TEST_CASE(a_burst_is_received_completely) {
  // The descriptor is edge-triggered: an adapter that misses an edge hangs here, on one message or another.
  wire on;
  zmq_options roomy;
  roomy.receive_high_water = 0;
  roomy.send_high_water = 0;
  zmq_socket publisher = on.open(zmq_socket::kind::publisher, roomy);
  zmq_socket subscriber = on.open(zmq_socket::kind::subscriber, roomy);
  BOOST_TEST(!publisher.bind("tcp://127.0.0.1:*"));
  BOOST_TEST(!subscriber.subscribe(""));
  BOOST_TEST(!subscriber.connect(publisher.bound_endpoint()));
  on.run(join(publisher, subscriber));

  int count = 0;
  const auto rethrow = [](std::exception_ptr thrown) {
    if (thrown) std::rethrow_exception(thrown);
  };
  asio::co_spawn(on.context, receive_burst(subscriber, count), rethrow);
  asio::co_spawn(on.context, publish_burst(publisher), rethrow);
  on.context.restart();
  on.context.run();

  BOOST_TEST(count == burst);
}

BOOST_AUTO_TEST_CASE(connects_and_disconnects_are_counted) {
  // The state of a stream's connection is shown to operators.
  wire on;
  on.run(watch_peer(on));
}

BOOST_AUTO_TEST_CASE(a_message_with_too_many_frames_is_refused_and_the_next_one_is_not) {
  // A strange peer must not make the frames of two messages run together.
  wire on;
  zmq_socket router = on.open(zmq_socket::kind::router);
  zmq_socket dealer = on.open(zmq_socket::kind::dealer);
  BOOST_TEST(!router.bind("ipc://@kvc-test-frames-" + std::to_string(clock_type::now().time_since_epoch().count())));
  BOOST_TEST(!dealer.connect(router.bound_endpoint()));
  const std::vector<std::string_view> most(64, "x");
  const std::array<std::string_view, 1> good{"good"};
  BOOST_TEST(!dealer.try_send(most));  // 65 frames at the router, which puts the identity first
  BOOST_TEST(!dealer.try_send(good));

  zmq_message message;
  error_code first = errc::would_block;
  error_code second = errc::would_block;
  const auto receive_both = [](zmq_socket& from, zmq_message& into, error_code& one, error_code& two) -> asio::awaitable<void> {
    one = co_await from.receive(into, soon());
    two = co_await from.receive(into, soon());
  };
  on.run(receive_both(router, message, first, second));

  BOOST_TEST(first == make_error_code(errc::bad_frame_count));
  BOOST_TEST(!second);
  BOOST_TEST(message.size() == 2U);
}

BOOST_AUTO_TEST_CASE(what_is_not_an_endpoint_is_refused) {
  // A registration with a bad endpoint must be answered with an error, not by silence.
  wire on;
  zmq_socket subscriber = on.open(zmq_socket::kind::subscriber);
  for (const char* wrong : {"", "nowhere", "tcp://", "udp://127.0.0.1:5", "tcp://127.0.0.1:no", "gopher://x:1"}) {
    BOOST_TEST_CONTEXT(wrong) {
      BOOST_TEST(subscriber.connect(wrong) == make_error_code(errc::invalid_endpoint));
    }
  }
  zmq_socket first = on.open(zmq_socket::kind::publisher);
  zmq_socket second = on.open(zmq_socket::kind::publisher);
  BOOST_TEST(!first.bind("tcp://127.0.0.1:*"));
  BOOST_TEST(second.bind(first.bound_endpoint()) == make_error_code(errc::address_in_use));
  second.close();
  BOOST_TEST(second.connect("tcp://127.0.0.1:1") == make_error_code(errc::closed));
}

BOOST_AUTO_TEST_CASE(ipv6_endpoints_work_where_the_machine_has_ipv6) {
  // Publishers in IPv6 clusters are named by bracketed addresses.
  wire on;
  zmq_socket router = on.open(zmq_socket::kind::router);
  if (router.bind("tcp://[::1]:*")) {
    BOOST_TEST_MESSAGE("no IPv6 here");
    return;
  }
  zmq_socket dealer = on.open(zmq_socket::kind::dealer);
  BOOST_TEST(!dealer.connect(router.bound_endpoint()));
  const std::array<std::string_view, 1> frames{"six"};
  BOOST_TEST(!dealer.try_send(frames));
  zmq_message message;
  error_code received;
  const auto receive_one = [](zmq_socket& from, zmq_message& into, error_code& result) -> asio::awaitable<void> {
    result = co_await from.receive(into, soon());
  };
  on.run(receive_one(router, message, received));
  BOOST_TEST(!received);
}

BOOST_AUTO_TEST_SUITE_END()
