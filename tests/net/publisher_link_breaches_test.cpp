// What links say to their peers, and to peers that do not keep to the protocol.
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "net/publisher_link.hpp"
#include "tests/support/net/link_fixture.hpp"
#include "tests/support/net/raw_publisher.hpp"

BOOST_AUTO_TEST_SUITE(publisher_link_breaches)

namespace {

using namespace kvc::net;
using namespace kvc::test;
using namespace std::chrono_literals;
using namespace std::string_literals;

struct breach {
  const char* what;
  std::string said;
  errc fault;
  bool is_agreed;  ///< the handshake has been done before
};

asio::awaitable<void> give_up(wire& on, breach by) {
  raw_publisher peer(on.context);
  link_options small = quick_link();
  small.max_frame_bytes = 1'000;
  publisher_link link = make_link(on, {}, small);
  connect(link, peer.endpoint());
  co_await peer.accept();
  if (by.is_agreed) {
    const bool agreed = co_await peer.shake_hands();
    BOOST_TEST_REQUIRE(agreed);
  }
  const auto begun = wire_clock::now();
  co_await peer.say(by.said);
  if (by.is_agreed) {
    co_await expect(link, "before", 1);
    publisher_message none;
    const auto patience = soon();
    while (link.poll_connection().connected && wire_clock::now() < patience) {
      BOOST_TEST(link.try_receive(none) == make_error_code(errc::would_block));
      co_await one_turn();
    }
  }
  co_await peer.hear_the_end();
  const auto until = soon();
  while (!link.poll_connection().given_up) {
    const error_code told = co_await link.wait(until);
    BOOST_TEST_REQUIRE(!told);
    BOOST_TEST_REQUIRE(link.has_notices());
  }
  BOOST_TEST((wire_clock::now() - begun >= small.after_a_breach));
  const connection_seen seen = link.poll_connection();
  BOOST_TEST((seen.fault == by.fault));
  BOOST_TEST(!seen.connected);
  BOOST_TEST(seen.connects == (by.is_agreed ? 1U : 0U));
  BOOST_TEST(seen.disconnects == seen.connects);
  BOOST_TEST(!link.is_for_older());
  const auto later = wire_clock::now() + 3 * small.longest_pause;  // in which others would have been tried again
  const error_code nothing = co_await link.wait(later);
  BOOST_TEST(nothing == make_error_code(errc::timed_out));
  publisher_message none;
  BOOST_TEST(link.try_receive(none) == make_error_code(errc::would_block));
  BOOST_TEST(!peer.has_caller());
}

asio::awaitable<void> answer_heartbeats(wire& on) {
  raw_publisher peer(on.context);
  publisher_link link = make_link(on);
  connect(link, peer.endpoint());
  co_await peer.greet();
  const std::vector<std::string> contexts{"", "c", "0123456789abcdef"};
  for (const std::string& context : contexts) {
    const std::string words = raw::message({"topic", "1"}) + raw::command("PING", "\0\x0a"s + context) + raw::message({"topic", "2"});
    co_await peer.say(words);
    co_await expect(link, "1", 1);
    co_await expect(link, "2", 1);
    publisher_message none;
    BOOST_TEST(link.try_receive(none) == make_error_code(errc::would_block));
    const std::string expected = raw::command("PONG", context);
    const std::string heard = co_await peer.read(expected.size());
    BOOST_TEST(heard == expected);
  }
  // To one that sleeps, too.
  const std::string ping = raw::command("PING", "\0\x0a"s + "asleep");
  co_await peer.say(ping);
  const std::string expected = raw::command("PONG", "asleep");
  const auto sleep = [](publisher_link& on_it) -> asio::awaitable<void> {
    publisher_message none;
    const auto until = soon();
    const error_code ended = co_await receive(on_it, none, until);
    BOOST_TEST(ended == make_error_code(errc::closed));
  };
  side_task asleep(on.context, sleep(link));
  const std::string heard = co_await peer.read(expected.size());
  BOOST_TEST(heard == expected);
  link.close();
  co_await asleep.end();
}

asio::awaitable<void> pass_over_other_words(wire& on) {
  raw_publisher peer(on.context);
  publisher_link link = make_link(on);
  connect(link, peer.endpoint());
  co_await peer.greet();
  // None of these is answered: what comes back first is the answer to the last.
  std::string words = raw::command("PONG", "") + raw::command("NEWS", std::string(4'000, 'n')) + raw::command("PING", "\0"s);
  words += raw::command("PING", "\0\x0a"s + std::string(17, 'c')) + raw::head('\4', 0) + raw::command("ERROR", "\4what"s);
  words += raw::command("PING", "\0\x0a"s + "last") + raw::message({"topic", "1"});
  co_await peer.say(words);
  co_await expect(link, "1", 1);
  publisher_message none;
  BOOST_TEST(link.try_receive(none) == make_error_code(errc::would_block));
  const std::string expected = raw::command("PONG", "last");
  const std::string heard = co_await peer.read(expected.size());
  BOOST_TEST(heard == expected);
}

asio::awaitable<void> meet_older(wire& on, std::string greeting) {
  raw_publisher peer(on.context);
  publisher_link link = make_link(on);
  connect(link, peer.endpoint());
  co_await peer.accept();
  co_await peer.say(greeting);
  const auto until = soon();
  const error_code told = co_await link.wait(until);
  BOOST_TEST(!told);
  BOOST_TEST(link.has_notices());
  BOOST_TEST(link.is_for_older());
  BOOST_TEST(!link.poll_connection().connected);
  BOOST_TEST(!link.poll_connection().given_up);
  BOOST_TEST(link.poll_connection().connects == 0U);
  co_await peer.hear_the_end();
  publisher_message none;
  const auto later = wire_clock::now() + 30ms;
  const error_code nothing = co_await receive(link, none, later);
  BOOST_TEST(nothing == make_error_code(errc::timed_out));
  BOOST_TEST(!peer.has_caller());
}

}  // namespace

BOOST_FIXTURE_TEST_CASE(who_breaks_the_protocol_is_not_connected_to_again_and_told_of_later, wire) {
  // Whoever begins anew for each of them would do so without end, as fast as the machine can.
  const std::string good = raw::message({"topic", "before"});
  const std::string too_long = raw::head('\2', 1'001);
  for (const breach& each : std::vector<breach>{
           {"rubbish", std::string(64, '\xff'), errc::not_understood, false},
           {"an HTTP server", "HTTP/1.1 400 Bad Request\r\n\r\n", errc::not_understood, false},
           {"another mechanism", raw::greeting("PLAIN"), errc::not_understood, false},
           {"a router", raw::greeting() + raw::ready("ROUTER"), errc::not_understood, false},
           {"a subscriber", raw::greeting() + raw::ready("SUB"), errc::not_understood, false},
           {"no socket type", raw::greeting() + raw::command("READY", ""), errc::not_understood, false},
           {"an error", raw::greeting() + raw::command("ERROR", "\2no"s), errc::not_understood, false},
           {"a message first", raw::greeting() + good, errc::not_understood, false},
           {"a READY without end", raw::greeting() + raw::head('\4', 1 << 20), errc::not_understood, false},
           {"too long a frame", good + too_long, errc::message_too_large, true},
           {"too long a frame behind others", good + raw::head('\1', 0) + too_long, errc::message_too_large, true},
           {"too long a frame behind too many", good + "\1\0\1\0\1\0\1\0"s + too_long, errc::message_too_large, true},
           {"the longest frame", good + raw::head('\2', 1ULL << 63), errc::message_too_large, true},
           {"reserved flags", good + "\x08\0"s, errc::not_understood, true},
           {"a command with more behind it", good + "\5\0"s, errc::not_understood, true},
           {"a command within a message", good + "\1\0"s + raw::command("PING", "\0\0"s), errc::not_understood, true},
           {"too long a command", good + raw::head('\4', 900'000), errc::message_too_large, true},
       }) {
    BOOST_TEST_CONTEXT(each.what) {
      run(give_up(*this, each));
    }
  }
}

BOOST_FIXTURE_TEST_CASE(heartbeats_are_answered_with_what_they_want_back, wire) {
  // A publisher of libzmq's that sends them ends the connection when it is not answered.
  run(answer_heartbeats(*this));
}

BOOST_FIXTURE_TEST_CASE(commands_nobody_needs_change_nothing, wire) {
  run(pass_over_other_words(*this));
}

BOOST_FIXTURE_TEST_CASE(a_peer_of_an_older_protocol_is_left_to_others, wire) {
  run(meet_older(*this, raw::older_greeting()));
  run(meet_older(*this, "\1\0"s));
}

BOOST_AUTO_TEST_SUITE_END()
