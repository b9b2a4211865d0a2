// Where live messages come from: which way is chosen, and that both are the same to whoever hears.
#include "net/live_socket.hpp"

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "tests/support/net/raw_publisher.hpp"
#include "tests/support/net/wire_fixture.hpp"
#include "tests/support/temporary_folder.hpp"

BOOST_AUTO_TEST_SUITE(live_sockets)

namespace {

using namespace kvc::net;
using namespace kvc::test;
using namespace std::chrono_literals;
using namespace std::string_literals;

void send(zmq_socket& by, std::string_view number) {
  const std::array<std::string_view, 2> frames{"topic", number};
  BOOST_TEST_REQUIRE(!by.try_send(frames));
}

asio::awaitable<void> expect(live_socket& from, live_message& message, std::string_view number) {
  const auto until = soon();
  const error_code failed = co_await receive(from, message, until);
  BOOST_TEST_REQUIRE(!failed);
  BOOST_TEST_REQUIRE(message.size() == 2U);
  BOOST_TEST(text_of(message, 0) == "topic");
  BOOST_TEST(text_of(message, 1) == number);
}

/// Until the link has found out that it is one that it cannot speak to, and somebody else calls.
asio::awaitable<void> greet_as_older(raw_publisher& peer, live_socket& heard_by) {
  const std::string greeting = raw::older_greeting();
  co_await peer.accept();
  co_await peer.say(greeting);
  const auto patience = soon();
  while (!peer.has_caller() && wire_clock::now() < patience) {
    (void)heard_by.poll_connection();
    co_await one_turn();
  }
  BOOST_TEST_REQUIRE(peer.has_caller());
  co_await peer.accept();
}

asio::awaitable<void> connect_directly(wire& on) {
  raw_publisher peer(on.context);
  std::optional<live_socket> subscriber = on.hear(peer.endpoint());
  BOOST_TEST(subscriber->bound_endpoint() == "");
  co_await peer.accept();
  // libzmq says ten bytes and its version before it hears what the other side speaks.
  const std::string expected = raw::greeting();
  const std::string heard = co_await peer.read(expected.size());
  BOOST_TEST(heard == expected);
}

asio::awaitable<void> hear_and_close(wire& on, std::string endpoint, bool bind) {
  zmq_socket publisher = on.open(zmq_socket::kind::publisher);
  std::optional<live_socket> subscriber;
  if (bind) {
    subscriber = on.hear(endpoint, true);
    BOOST_TEST(subscriber->bound_endpoint() != "");
    BOOST_TEST_REQUIRE(!publisher.connect(subscriber->bound_endpoint()));
  } else {
    BOOST_TEST_REQUIRE(!publisher.bind(endpoint));
    subscriber = on.hear(publisher.bound_endpoint());
    BOOST_TEST(subscriber->bound_endpoint() == "");
  }
  live_message message;
  BOOST_TEST(message.size() == 0U);
  co_await get_heard(publisher, *subscriber);
  for (const std::string_view number : std::array<std::string_view, 3>{"1", "2", "3"}) send(publisher, number);
  for (int i = 1; i <= 3; ++i) {
    const std::string number = std::to_string(i);
    co_await expect(*subscriber, message, number);
  }
  const connection_seen seen = subscriber->poll_connection();
  BOOST_TEST(seen.connected);
  BOOST_TEST(seen.connects == 1U);
  BOOST_TEST(seen.disconnects == 0U);
  message.clear();
  BOOST_TEST(message.size() == 0U);
  BOOST_TEST(subscriber->try_receive(message) == make_error_code(errc::would_block));
  subscriber->take_in();
  const auto shortly = wire_clock::now() + 20ms;
  const error_code nothing = co_await receive(*subscriber, message, shortly);
  BOOST_TEST(nothing == make_error_code(errc::timed_out));
  subscriber->close();
  BOOST_TEST(subscriber->try_receive(message) == make_error_code(errc::closed));
  const auto until = soon();
  const error_code closed = co_await subscriber->wait(until);
  BOOST_TEST(closed == make_error_code(errc::closed));
}

asio::awaitable<void> tell_connections_apart(wire& on, bool bind) {
  std::string endpoint = "tcp://127.0.0.1:*";
  std::optional<live_socket> subscriber;
  if (bind) subscriber = on.hear(endpoint, true);
  live_message message;
  for (int life = 1; life <= 3; ++life) {
    zmq_socket publisher = on.open(zmq_socket::kind::publisher);
    if (bind) {
      BOOST_TEST_REQUIRE(!publisher.connect(subscriber->bound_endpoint()));
    } else {
      endpoint = co_await bind_after(publisher, endpoint);
      if (life == 1) subscriber = on.hear(endpoint);
    }
    co_await get_heard(publisher, *subscriber);
    for (const std::string_view number : std::array<std::string_view, 3>{"1", "2", "3"}) send(publisher, number);
    for (int i = 1; i <= 3; ++i) {
      const std::string number = std::to_string(i);
      co_await expect(*subscriber, message, number);
      // Of those of publishers that connect to us the last does not tell of the others.
      BOOST_TEST(subscriber->are_of_same_connection(message) == (!bind && i > 1));
      BOOST_TEST(subscriber->is_of_same_connection(message) == (i > 1));
      BOOST_TEST(subscriber->are_of_same_connection(message) == !bind);
    }
  }
}

asio::awaitable<void> hear_older(wire& on) {
  raw_publisher peer(on.context);
  std::optional<live_socket> subscriber = on.hear(peer.endpoint());
  co_await greet_as_older(peer, *subscriber);
  const std::string wanted = co_await peer.shake_hands_as_older();
  BOOST_TEST(wanted == "");
  const std::string words = raw::message({"topic", "1"}) + raw::message({"topic", "2"});
  co_await peer.say(words);
  live_message message;
  const std::vector<std::string> numbers{"1", "2"};
  for (const std::string& number : numbers) {
    co_await expect(*subscriber, message, number);
    // libzmq tells of no handshake with such a peer: what it says stands for itself.
    BOOST_TEST(!subscriber->is_of_same_connection(message));
  }
  BOOST_TEST(!subscriber->poll_connection().given_up);
}

/// Who has been heard, and left, has an older one for a successor.
asio::awaitable<void> hear_older_behind_newer(wire& on) {
  raw_publisher peer(on.context);
  std::optional<live_socket> subscriber = on.hear(peer.endpoint());
  co_await peer.greet();
  const std::string words = raw::message({"topic", "1"}) + raw::message({"topic", "2"});
  co_await peer.say(words);
  peer.hang_up();
  const auto patience = soon();
  subscriber->take_in();
  while (subscriber->poll_connection().disconnects < 1 && wire_clock::now() < patience) {
    subscriber->take_in();
    co_await one_turn();
  }
  const std::string greeting = raw::older_greeting();
  co_await peer.accept();
  co_await peer.say(greeting);
  co_await peer.hear_the_end();
  BOOST_TEST(subscriber->poll_connection().disconnects == 1U);
  live_message message;
  const std::vector<std::string> numbers{"1", "2"};
  for (const std::string& number : numbers) {
    co_await expect(*subscriber, message, number);
    BOOST_TEST(subscriber->is_of_same_connection(message) == (number != "1"));
  }
  BOOST_TEST(subscriber->try_receive(message) == make_error_code(errc::would_block));
  co_await peer.accept();
  const std::string wanted = co_await peer.shake_hands_as_older();
  BOOST_TEST(wanted == "");
  co_await peer.say(words);
  for (const std::string& number : numbers) {
    co_await expect(*subscriber, message, number);
    BOOST_TEST(!subscriber->is_of_same_connection(message));
  }
  BOOST_TEST(subscriber->poll_connection().connects == 1U);
  BOOST_TEST(subscriber->poll_connection().disconnects == 1U);
}

}  // namespace

BOOST_FIXTURE_TEST_CASE(who_listens_at_an_address_is_connected_to_directly, wire) {
  run(connect_directly(*this));
}

BOOST_FIXTURE_TEST_CASE(a_publisher_is_heard_however_it_is_connected_to, wire) {
  const temporary_folder folder;
  run(hear_and_close(*this, "tcp://127.0.0.1:*", false));
  run(hear_and_close(*this, "tcp://127.0.0.1:*", true));
  run(hear_and_close(*this, "ipc://" + folder.file("kv.sock"), false));
  run(hear_and_close(*this, "ipc://" + folder.file("ours.sock"), true));
}

BOOST_FIXTURE_TEST_CASE(messages_of_another_connection_are_told_from_those_before, wire) {
  // The numbers of one publisher say nothing about those of another.
  run(tell_connections_apart(*this, false));
  run(tell_connections_apart(*this, true));
}

BOOST_FIXTURE_TEST_CASE(a_publisher_of_an_older_protocol_is_heard_after_all, wire) {
  run(hear_older(*this));
}

BOOST_FIXTURE_TEST_CASE(what_came_before_an_older_publisher_is_heard_and_counted, wire) {
  run(hear_older_behind_newer(*this));
}

BOOST_FIXTURE_TEST_CASE(what_is_no_endpoint_is_refused, wire) {
  // A registration with a bad endpoint must be answered with an error, not by silence.
  std::optional<live_socket> opened = hear("tcp://127.0.0.1:1");
  live_options options;
  for (const char* wrong :
       {"", "nowhere", "tcp://", "tcp://127.0.0.1", "tcp://127.0.0.1:no", "ipc://", "udp://127.0.0.1:5", "gopher://x:1"}) {
    BOOST_TEST_CONTEXT(wrong) {
      options.endpoint = wrong;
      BOOST_TEST(live_socket::open(opened, engine, context.get_executor(), chunks, options) == make_error_code(errc::invalid_endpoint));
      BOOST_TEST(!opened.has_value());
    }
  }
  options.bind = true;
  std::optional<live_socket> other = hear("tcp://127.0.0.1:*", true);
  options.endpoint = other->bound_endpoint();
  BOOST_TEST(live_socket::open(opened, engine, context.get_executor(), chunks, options) == make_error_code(errc::address_in_use));
  BOOST_TEST(!opened.has_value());
}

BOOST_AUTO_TEST_SUITE_END()
