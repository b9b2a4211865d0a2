// What waits in a link that nobody receives from: how much, and what is known meanwhile.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <boost/test/unit_test.hpp>

#include "tests/support/net/link_fixture.hpp"
#include "tests/support/net/raw_publisher.hpp"

BOOST_AUTO_TEST_SUITE(publisher_link_waiting)

namespace {

using namespace kvc::net;
using namespace kvc::test;

/// What both of two have said lies there together.
asio::awaitable<void> hear_who_has_gone(wire& on) {
  raw_publisher peer(on.context);
  publisher_link link = make_link(on);
  connect(link, peer.endpoint());
  for (std::uint64_t life = 1; life <= 2; ++life) {
    co_await peer.greet();
    co_await learn(link, [life](const connection_seen& seen) { return seen.connects == life; });
    for (int i = 1; i <= 3; ++i) {
      const std::string words = raw::message({"topic", std::to_string(i)});
      co_await peer.say(words);
    }
    peer.hang_up();
    co_await learn(link, [life](const connection_seen& seen) { return seen.disconnects == life; });
  }
  for (std::uint64_t life = 1; life <= 2; ++life) {
    for (int i = 1; i <= 3; ++i) {
      const std::string number = std::to_string(i);
      co_await expect(link, number, life);
    }
  }
}

asio::awaitable<void> keep_within_bounds(wire& on) {
  constexpr int messages = 400;  // of which the kernel's buffers hold a quarter
  raw_publisher peer(on.context);
  publisher_link link = make_link(on, {}, narrow_link());
  connect(link, peer.endpoint());
  co_await peer.greet();
  co_await learn(link, is_connected);
  std::string words;
  for (int i = 0; i < messages; ++i) words += raw::message({"topic", std::to_string(i) + std::string(100'000, 'w')});
  std::size_t offered = 0;
  for (int turn = 0; turn < 300; ++turn) {
    offered += peer.offer(std::string_view(words).substr(offered));
    link.take_in();
    co_await one_turn();
  }
  BOOST_TEST(offered < words.size() / 2);
  for (int received = 0; received < messages; ++received) {
    if (offered < words.size()) offered += peer.offer(std::string_view(words).substr(offered));
    if (offered == words.size()) peer.end();
    const std::string number = std::to_string(received);
    co_await expect(link, number, 1);
  }
  co_await learn(link, [](const connection_seen& seen) { return seen.disconnects == 1; });
}

/// What it has said before is still to be received.
asio::awaitable<void> hear_of_an_end_at_once(wire& on) {
  constexpr int messages = 30;
  raw_publisher peer(on.context);
  publisher_link link = make_link(on, {}, narrow_link());
  connect(link, peer.endpoint());
  co_await peer.greet();
  co_await learn(link, is_connected);
  std::string words;
  for (int i = 0; i < messages; ++i) words += raw::message({"topic", std::to_string(i)});
  co_await peer.say(words);
  peer.end();
  co_await peer.let_arrive();
  co_await learn(link, [](const connection_seen& seen) { return seen.disconnects == 1 && !seen.connected; });
  for (int received = 0; received < messages; ++received) {
    const std::string number = std::to_string(received);
    co_await expect(link, number, 1);
  }
  publisher_message none;
  BOOST_TEST(link.try_receive(none) == make_error_code(errc::would_block));  // and is connected anew behind that
  co_await peer.greet();
  co_await learn(link, [](const connection_seen& seen) { return seen.connects == 2; });
  BOOST_TEST(link.poll_connection().disconnects == 1U);
}

asio::awaitable<void> hear_behind_commands(wire& on) {
  raw_publisher peer(on.context);
  publisher_link link = make_link(on);
  connect(link, peer.endpoint());
  co_await peer.greet();
  co_await learn(link, is_connected);
  std::string words;
  while (words.size() < (8U << 20)) words += raw::command("GOSSIP", std::string(4'000, 'g'));
  words += raw::message({"topic", "1"});
  side_task saying(on.context, peer.say(std::move(words)));
  co_await expect(link, "1", 1);
  co_await saying.end();
}

}  // namespace

BOOST_FIXTURE_TEST_CASE(what_was_said_before_the_end_can_be_heard_when_the_end_is_told, wire) {
  run(hear_who_has_gone(*this));
}

BOOST_FIXTURE_TEST_CASE(no_more_messages_wait_than_may_and_none_is_lost, wire) {
  // A stream that replays hears what is live behind it; the rest stays with the publisher.
  run(keep_within_bounds(*this));
}

BOOST_FIXTURE_TEST_CASE(an_end_is_told_at_once_and_costs_nothing_that_came_before_it, wire) {
  run(hear_of_an_end_at_once(*this));
}

BOOST_FIXTURE_TEST_CASE(a_peer_with_much_to_say_that_is_no_message_keeps_nobody_from_the_one_behind_it, wire) {
  run(hear_behind_commands(*this));
}

BOOST_AUTO_TEST_SUITE_END()
