#include "net/zmq_socket.hpp"

#include <array>
#include <exception>
#include <filesystem>
#include <fstream>
#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/test/unit_test.hpp>

#include "tests/support/net/wire_fixture.hpp"
#include "tests/support/temporary_folder.hpp"

BOOST_AUTO_TEST_SUITE(zmq_sockets)

namespace {

using namespace kvc::net;
using namespace kvc::test;
using namespace std::chrono_literals;
using clock_type = std::chrono::steady_clock;

asio::awaitable<void> exchange_published(wire& on) {
  zmq_socket publisher = on.open(zmq_socket::kind::publisher);
  zmq_socket subscriber = on.open(zmq_socket::kind::subscriber);
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

/// What a publisher is told next of its subscribers.
asio::awaitable<std::string> hear_news(zmq_socket& publisher) {
  zmq_message news;
  const auto until = soon();
  const error_code received = co_await publisher.receive(news, until);
  BOOST_TEST(!received);
  co_return news.size() == 1U ? text_of(news, 0) : std::string("not one frame");
}

asio::awaitable<void> heed_subscribers(wire& on) {
  zmq_socket publisher = on.open(zmq_socket::kind::heeding_publisher);
  BOOST_TEST_REQUIRE(!publisher.bind("tcp://127.0.0.1:*"));
  const std::string endpoint = publisher.bound_endpoint();
  zmq_socket first = on.open(zmq_socket::kind::subscriber);
  zmq_socket second = on.open(zmq_socket::kind::subscriber);
  for (zmq_socket* each : {&first, &second}) {
    BOOST_TEST(!each->subscribe(""));
    BOOST_TEST(!each->connect(endpoint));
    const std::string news = co_await hear_news(publisher);
    BOOST_TEST(news == "\1");
  }

  const std::array<std::string_view, 1> frames{"heard at once"};
  BOOST_TEST(!publisher.try_send(frames));
  zmq_message message;
  const auto until = soon();
  const error_code received = co_await second.receive(message, until);
  first.close();
  second.close();
  const std::string end = co_await hear_news(publisher);

  BOOST_TEST(!received);
  BOOST_TEST((message.size() == 1U && text_of(message, 0) == "heard at once"));
  BOOST_TEST((end == std::string(1, '\0')));
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

BOOST_AUTO_TEST_CASE(a_published_message_arrives_frame_by_frame) {
  // The live path of every engine.
  wire on;
  on.run(exchange_published(on));
}

BOOST_AUTO_TEST_CASE(a_heeding_publisher_hears_who_comes_and_goes) {
  // A simulator that does not know whether it was heard cannot say what a conductor has to know.
  wire on;
  on.run(heed_subscribers(on));
}

BOOST_AUTO_TEST_CASE(a_request_is_answered_through_router_and_dealer) {
  // The replay path.
  wire on;
  on.run(exchange_requests(on));
}

BOOST_AUTO_TEST_CASE(a_message_of_a_successor_never_comes_before_the_news_of_it) {
  // A stream must know that its publisher was away before it believes the next number.
  wire on;
  on.run(hear_of_successor(on));
}

BOOST_AUTO_TEST_CASE(a_message_is_empty_until_one_is_received_into_it) {
  // Of a thousand streams each has some that wait. Whoever asks one of them for frames, or has it let go of them, finds none.
  zmq_message waiting;
  BOOST_TEST(waiting.size() == 0U);
  waiting.clear();
  zmq_message other = std::move(waiting);
  BOOST_TEST(other.size() == 0U);
  wire on;
  zmq_socket subscriber = on.open(zmq_socket::kind::subscriber);
  BOOST_TEST(subscriber.try_receive(other) == make_error_code(errc::would_block));
  BOOST_TEST(other.size() == 0U);
  const zmq_message never;
  BOOST_TEST(!subscriber.is_of_same_connection(never));
  BOOST_TEST(!subscriber.are_of_same_connection(never));
}

BOOST_AUTO_TEST_CASE(a_burst_is_received_completely) {
  // The descriptor is edge-triggered: an adapter that misses an edge hangs here, on one message or another.
  wire on;
  zmq_options roomy;
  roomy.receive_high_water = 0;
  roomy.send_high_water = 0;
  zmq_socket publisher = on.open(zmq_socket::kind::publisher, roomy);
  zmq_socket subscriber = on.open(zmq_socket::kind::subscriber, roomy);
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

BOOST_AUTO_TEST_CASE(a_bind_takes_no_file_and_no_one_s_place) {
  // Whoever may register a stream could remove any file of the service's else, that of the quotas first of all.
  wire on;
  const kvc::test::temporary_folder folder;
  const auto file = folder.path() / "quotas.json";
  std::ofstream(file) << "{}";
  const std::string place = "ipc://" + (folder.path() / "kv.sock").string();
  zmq_socket first = on.open(zmq_socket::kind::publisher);
  BOOST_TEST(first.bind("ipc://" + file.string()) == make_error_code(errc::address_in_use));
  BOOST_TEST(std::filesystem::is_regular_file(file));
  BOOST_TEST(std::filesystem::file_size(file) == 2U);
  BOOST_TEST(!first.bind(place));
  zmq_socket second = on.open(zmq_socket::kind::publisher);
  BOOST_TEST(second.bind(place) == make_error_code(errc::address_in_use));

  // What a process left that was killed is in nobody's way.
  const auto dead = (folder.path() / "dead.sock").string();
  asio::io_context context;
  asio::local::stream_protocol::acceptor left(context, asio::local::stream_protocol::endpoint(dead));
  left.close();
  BOOST_REQUIRE(std::filesystem::exists(dead));
  BOOST_TEST(!second.bind("ipc://" + dead));
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
