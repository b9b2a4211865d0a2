// Links to peers that are slow, and that go.
#include <optional>
#include <string>
#include <sys/resource.h>
#include <vector>

#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/error.hpp>
#include <boost/test/unit_test.hpp>

#include "net/publisher_link.hpp"
#include "tests/support/net/link_fixture.hpp"
#include "tests/support/net/raw_publisher.hpp"

BOOST_AUTO_TEST_SUITE(publisher_link_peers)

namespace {

using namespace kvc::net;
using namespace kvc::test;
using namespace std::chrono_literals;
using namespace std::string_literals;

asio::awaitable<void> hear_byte_by_byte(wire& on) {
  raw_publisher peer(on.context);
  publisher_link link = make_link(on, "topic");
  connect(link, peer.endpoint());
  co_await peer.accept();
  const std::string expected = raw::subscriber_says("topic");
  std::string heard = co_await peer.read(raw::greeting().size());  // without a word of ours
  const std::string payload(300, 'p');
  std::string said = raw::greeting() + raw::ready("XPUB");
  for (const char each : said) {
    const std::string byte(1, each);
    co_await peer.say(byte);
    co_await one_turn();
  }
  heard += co_await peer.read(expected.size() - heard.size());
  BOOST_TEST(heard == expected);
  co_await learn(link, is_connected);
  said = raw::message({"topic", "1"}) + raw::message({"topic", payload});
  for (const char each : said) {
    const std::string byte(1, each);
    co_await peer.say(byte);
    if (said.size() < 1'000) link.take_in();
    co_await one_turn();
  }
  co_await expect(link, "1", 1);
  co_await expect(link, payload, 1);
}

/// Whoever waits holds no more memory than what has come needs: it is moved to and fro.
asio::awaitable<void> hear_in_pieces(wire& on) {
  raw_publisher peer(on.context);
  publisher_link link = make_link(on);
  connect(link, peer.endpoint());
  co_await peer.greet();
  const std::vector<std::size_t> sizes{0, 300, 5, 17'000, 65'536, 1, 270'000, 255, 12'000, 600'000, 3};
  std::string words;
  for (const std::size_t each : sizes) words += raw::message({"topic", std::to_string(each) + std::string(each, 'p')});
  const auto hear_all = [](publisher_link& from, const std::vector<std::size_t>& expected) -> asio::awaitable<void> {
    publisher_message message;
    const auto until = soon();
    for (const std::size_t each : expected) {
      const error_code failed = co_await receive(from, message, until);
      BOOST_TEST_REQUIRE(!failed);
      BOOST_TEST_REQUIRE(message.size() == 2U);
      BOOST_TEST((text_of(message, 1) == std::to_string(each) + std::string(each, 'p')));
    }
  };
  side_task hearing(on.context, hear_all(link, sizes));
  std::size_t piece = 1;
  for (std::size_t at = 0; at < words.size(); at += piece, piece = (piece * 7 + 1) % 30'011) {
    const std::string some = words.substr(at, piece);
    co_await peer.say(some);
    co_await one_turn();
  }
  co_await hearing.end();
}

asio::awaitable<void> give_up_silent(wire& on, std::string first_words) {
  raw_publisher peer(on.context);
  link_options impatient = quick_link();
  impatient.longest_handshake = 50ms;
  publisher_link link = make_link(on, {}, impatient);
  connect(link, peer.endpoint());
  for (int i = 0; i < 3; ++i) {
    co_await peer.accept();
    const auto accepted = wire_clock::now();
    co_await peer.say(first_words);
    co_await peer.hear_the_end();
    BOOST_TEST((wire_clock::now() - accepted < 10s));
    BOOST_TEST(!link.has_notices());
  }
  co_await peer.greet();
  co_await learn(link, is_connected);
  BOOST_TEST(link.poll_connection().connects >= 1U);  // another one may have been too late by a hair for a busy machine
  // Whoever has shaken hands may be silent.
  const auto later = wire_clock::now() + 2 * impatient.longest_handshake;
  publisher_message message;
  const error_code nothing = co_await receive(link, message, later);
  BOOST_TEST(nothing == make_error_code(errc::timed_out));
  BOOST_TEST(link.poll_connection().connected);
}

asio::awaitable<void> return_to_who_hangs_up(wire& on) {
  raw_publisher peer(on.context);
  publisher_link link = make_link(on);
  connect(link, peer.endpoint());
  const std::vector<std::string> beginnings{"", "\xff", raw::greeting(), raw::greeting() + raw::ready("PUB").substr(0, 9)};
  for (const std::string& words : beginnings) {
    co_await peer.accept();
    co_await peer.say(words);
    peer.hang_up();
    co_await peer.accept();
    co_await peer.say(words);
    peer.reset();
  }
  BOOST_TEST(!link.has_notices());
  co_await peer.greet();
  co_await learn(link, is_connected);
  BOOST_TEST(link.poll_connection().connects == 1U);
  BOOST_TEST(link.poll_connection().disconnects == 0U);
  BOOST_TEST(!link.poll_connection().given_up);
}

asio::awaitable<void> lose_half_a_message(wire& on) {
  raw_publisher peer(on.context);
  publisher_link link = make_link(on);
  connect(link, peer.endpoint());
  std::uint64_t life = 0;
  const std::string half = raw::message({"topic", std::string(300'000, 'h')});
  const std::vector<std::size_t> parts{1, 8, 10, 150'000, half.size() - 1};
  for (const std::size_t there : parts) {
    ++life;
    co_await peer.greet();
    const std::string number = std::to_string(life);
    const std::string words = raw::message({"topic", number}) + half.substr(0, there);
    co_await peer.say(words);
    peer.hang_up();
    co_await learn(link, [life](const connection_seen& seen) { return seen.disconnects == life; });
    co_await expect(link, number, life);
    publisher_message none;
    BOOST_TEST(link.try_receive(none) == make_error_code(errc::would_block));
  }
  BOOST_TEST(!link.poll_connection().given_up);
}

/// It cannot be answered any more, and what it has said stands in the kernel.
asio::awaitable<void> hear_who_was_killed(wire& on) {
  raw_publisher peer(on.context);
  publisher_link link = make_link(on);
  connect(link, peer.endpoint());
  co_await peer.greet();
  co_await learn(link, is_connected);
  std::string words = raw::command("PING", "\0\x0a"s + "context");
  constexpr int messages = 4;
  for (int i = 0; i < messages; ++i) words += raw::message({"topic", std::to_string(i) + std::string(30'000, 'p')});
  co_await peer.say(words);
  co_await peer.let_arrive();
  peer.reset();
  for (int i = 0; i < messages; ++i) {
    const std::string number = std::to_string(i);
    co_await expect(link, number, 1);
  }
  co_await learn(link, [](const connection_seen& seen) { return seen.disconnects == 1; });
}

/// While it lives, the process gets no further descriptor.
class no_descriptors {
 public:
  no_descriptors() {
    BOOST_TEST_REQUIRE(::getrlimit(RLIMIT_NOFILE, &before_) == 0);
    rlimit none = before_;
    none.rlim_cur = 1;  // the first is in use, and one is what poll may be asked about
    BOOST_TEST_REQUIRE(::setrlimit(RLIMIT_NOFILE, &none) == 0);
  }
  ~no_descriptors() { (void)::setrlimit(RLIMIT_NOFILE, &before_); }
  no_descriptors(const no_descriptors&) = delete;
  no_descriptors& operator=(const no_descriptors&) = delete;

 private:
  rlimit before_{};
};

asio::awaitable<void> outlive_scarcity(wire& on) {
  raw_publisher peer(on.context);
  publisher_link link = make_link(on);
  {
    const no_descriptors any;
    BOOST_TEST((link.connect(peer.address()) == asio::error::no_descriptors));
    BOOST_TEST(!link.poll_connection().given_up);
  }
  link = make_link(on);
  connect(link, peer.endpoint());
  co_await peer.greet();
  co_await learn(link, is_connected);
  {
    const no_descriptors any;
    peer.hang_up();
    co_await learn(link, [](const connection_seen& seen) { return !seen.connected; });
    const auto later = wire_clock::now() + 50ms;  // several tries
    const error_code nothing = co_await link.wait(later);
    BOOST_TEST(nothing == make_error_code(errc::timed_out));
    BOOST_TEST(!peer.has_caller());
  }
  co_await peer.greet();
  co_await learn(link, [](const connection_seen& seen) { return seen.connects == 2; });
}

/// A wait that ends for something else takes nothing with it.
asio::awaitable<void> keep_what_comes_beside(wire& on, bool is_cancelled) {
  raw_publisher peer(on.context);
  publisher_link link = make_link(on);
  connect(link, peer.endpoint());
  co_await peer.greet();
  co_await learn(link, is_connected);
  asio::cancellation_signal signal;
  error_code ended = errc::would_block;
  const auto wait_once = [](publisher_link& on_it, bool in_time, error_code& how) -> asio::awaitable<void> {
    const auto until = in_time ? wire_clock::now() + 1ms : soon();
    how = co_await on_it.wait(until);
  };
  side_task waiting(on.context, wait_once(link, !is_cancelled, ended), signal.slot());
  co_await one_turn();
  const std::string words = raw::message({"topic", "1"});
  co_await peer.say(words);
  signal.emit(asio::cancellation_type::terminal);
  co_await waiting.end();
  BOOST_TEST(ended != make_error_code(errc::would_block));
  co_await expect(link, "1", 1);
}

asio::awaitable<void> wait_long(publisher_link& link, error_code& ended) {
  for (ended = {}; !ended;) {
    publisher_message none;
    const auto until = soon();
    ended = co_await receive(link, none, until);
  }
}

/// So far a connection has come when its link goes: 0, the kernel has been asked; 1, accepted; 2, greeted; 3, agreed; 4, spoken over.
asio::awaitable<void> leave_amid(wire& on, int how_far, bool waits) {
  raw_publisher peer(on.context);
  std::optional<publisher_link> link(make_link(on));
  connect(*link, peer.endpoint());
  error_code ended = errc::would_block;
  std::optional<side_task> waiting;
  if (waits) waiting.emplace(on.context, wait_long(*link, ended));
  if (how_far >= 1) co_await peer.accept();
  const std::string greeting = raw::greeting();
  if (how_far == 2) co_await peer.say(greeting);
  if (how_far >= 3) {
    const bool agreed = co_await peer.shake_hands();
    BOOST_TEST_REQUIRE(agreed);
  }
  if (how_far >= 4) {
    if (!waits) co_await learn(*link, is_connected);
    const std::string words = raw::message({"topic", "1"}) + "\0"s;  // and a beginning
    co_await peer.say(words);
    co_await peer.let_arrive();
  }
  co_await one_turn();
  if (waits) {
    link->close();  // the coroutine has a reference to it
    co_await waiting->end();
    BOOST_TEST(ended == make_error_code(errc::closed));
  }
  link.reset();
  if (how_far >= 1) co_await peer.hear_the_end();
  for (int i = 0; i < 5; ++i) co_await one_turn();  // what the kernel was asked finds that it is over
}

}  // namespace

BOOST_FIXTURE_TEST_CASE(a_publisher_may_say_everything_in_single_bytes, wire) {
  run(hear_byte_by_byte(*this));
}

BOOST_FIXTURE_TEST_CASE(messages_come_whole_wherever_they_are_cut, wire) {
  run(hear_in_pieces(*this));
}

BOOST_FIXTURE_TEST_CASE(a_peer_that_stays_silent_is_given_up_and_tried_again, wire) {
  // A port that a proxy listens at, whose publisher is not up yet.
  run(give_up_silent(*this, {}));
  run(give_up_silent(*this, raw::greeting()));
}

BOOST_FIXTURE_TEST_CASE(a_peer_that_hangs_up_is_tried_again, wire) {
  run(return_to_who_hangs_up(*this));
}

BOOST_FIXTURE_TEST_CASE(a_connection_that_ends_within_a_message_costs_only_that, wire) {
  run(lose_half_a_message(*this));
}

BOOST_FIXTURE_TEST_CASE(what_was_said_by_one_that_can_not_be_answered_any_more_is_heard, wire) {
  run(hear_who_was_killed(*this));
}

BOOST_FIXTURE_TEST_CASE(where_the_system_has_no_socket_it_is_tried_again, wire) {
  run(outlive_scarcity(*this));
}

BOOST_FIXTURE_TEST_CASE(a_wait_that_ends_beside_a_message_does_not_lose_it, wire) {
  for (int i = 0; i < 10; ++i) {
    run(keep_what_comes_beside(*this, true));
    run(keep_what_comes_beside(*this, false));
  }
}

BOOST_FIXTURE_TEST_CASE(a_link_may_go_at_any_moment, wire) {
  for (int how_far = 0; how_far <= 4; ++how_far) {
    run(leave_amid(*this, how_far, false));
    run(leave_amid(*this, how_far, true));
  }
}

BOOST_AUTO_TEST_CASE(a_lane_may_go_while_somebody_waits) {
  // As one does that is stopped without a farewell: the coroutine goes with it, and the link, which is on its stack.
  std::optional<side_task> waiting;
  std::optional<side_task> greeting;
  wire on;
  raw_publisher peer(on.context);
  const auto wait_on_its_own = [](wire& lane, std::string endpoint) -> asio::awaitable<void> {
    publisher_link link = make_link(lane);
    connect(link, endpoint);
    error_code ended;
    co_await wait_long(link, ended);
  };
  waiting.emplace(on.context, wait_on_its_own(on, peer.endpoint()));
  greeting.emplace(on.context, peer.greet());
  on.context.run_for(50ms);
}

BOOST_AUTO_TEST_SUITE_END()
