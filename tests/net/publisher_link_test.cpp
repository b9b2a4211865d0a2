// Links to publishers as engines have them, which speak through libzmq.
#include "net/publisher_link.hpp"

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/test/unit_test.hpp>

#include "tests/support/net/held_port.hpp"
#include "tests/support/net/link_fixture.hpp"
#include "tests/support/temporary_folder.hpp"

BOOST_AUTO_TEST_SUITE(publisher_links)

namespace {

using namespace kvc::net;
using namespace kvc::test;
using namespace std::chrono_literals;

std::string abstract_endpoint() {
  return "ipc://@kvc-test-link-" + std::to_string(wire_clock::now().time_since_epoch().count());
}

void send(zmq_socket& by, std::string_view topic, std::string_view number, std::string_view payload) {
  const std::array<std::string_view, 3> frames{topic, number, payload};
  BOOST_TEST_REQUIRE(!by.try_send(frames));
}

/// Around the places where lengths are written in another way, what is received at once, and what a chunk has room for.
const std::vector<std::size_t> sizes{0,       1,       254,     255,     256,     4'096,   65'530,    65'536,
                                     100'000, 262'100, 262'130, 262'144, 262'200, 524'288, 1'048'576, 3};

asio::awaitable<void> hear_all_sizes(wire& on, std::string endpoint) {
  zmq_socket publisher = on.open(zmq_socket::kind::publisher);
  BOOST_TEST_REQUIRE(!publisher.bind(endpoint));
  publisher_link link = make_link(on);
  connect(link, publisher.bound_endpoint());
  co_await get_heard(publisher, link);
  constexpr int rounds = 6;
  for (int round = 0; round < rounds; ++round) {
    for (const std::size_t each : sizes) {
      send(publisher, "topic " + std::to_string(round), std::to_string(each), std::string(each, static_cast<char>('a' + round)));
    }
  }
  publisher_message message;
  for (int round = 0; round < rounds; ++round) {
    for (const std::size_t each : sizes) {
      const auto until = soon();
      const error_code failed = co_await receive(link, message, until);
      BOOST_TEST_REQUIRE(!failed);
      BOOST_TEST_REQUIRE(message.size() == 3U);
      BOOST_TEST_REQUIRE(text_of(message, 0) == "topic " + std::to_string(round));
      BOOST_TEST_REQUIRE(text_of(message, 1) == std::to_string(each));
      BOOST_TEST_REQUIRE((text_of(message, 2) == std::string(each, static_cast<char>('a' + round))));
      BOOST_TEST(message.connection() == 1U);
    }
  }
  BOOST_TEST(link.try_receive(message) == make_error_code(errc::would_block));
  BOOST_TEST(message.size() == 0U);
}

/// What was received stays as it is while it is held, whatever comes behind it.
asio::awaitable<void> hold_messages(wire& on) {
  zmq_socket publisher = on.open(zmq_socket::kind::publisher);
  BOOST_TEST_REQUIRE(!publisher.bind("tcp://127.0.0.1:*"));
  publisher_link link = make_link(on);
  connect(link, publisher.bound_endpoint());
  co_await get_heard(publisher, link);
  std::vector<publisher_message> held(2 * sizes.size());
  for (std::size_t i = 0; i < held.size(); ++i) {
    send(publisher, "topic", std::to_string(i), std::string(sizes[i % sizes.size()], static_cast<char>('a' + i % 26)));
  }
  for (publisher_message& each : held) {
    const auto until = soon();
    const error_code failed = co_await receive(link, each, until);
    BOOST_TEST_REQUIRE(!failed);
  }
  link.close();
  for (std::size_t i = 0; i < held.size(); ++i) {
    BOOST_TEST(text_of(held[i], 1) == std::to_string(i));
    BOOST_TEST((text_of(held[i], 2) == std::string(sizes[i % sizes.size()], static_cast<char>('a' + i % 26))));
  }
}

asio::awaitable<void> hear_one_topic(wire& on, std::string prefix) {
  zmq_socket publisher = on.open(zmq_socket::kind::publisher);
  BOOST_TEST_REQUIRE(!publisher.bind("tcp://127.0.0.1:*"));
  publisher_link link = make_link(on, prefix);
  connect(link, publisher.bound_endpoint());
  co_await get_heard(publisher, link, prefix);
  send(publisher, prefix.substr(1), "0", "not the beginning");
  send(publisher, prefix + "1", "1", "longer");
  send(publisher, prefix.substr(0, prefix.size() - 1), "2", "too short");
  send(publisher, prefix, "3", "the same");
  publisher_message message;
  for (const char* expected : {"1", "3"}) {
    const auto until = soon();
    const error_code failed = co_await receive(link, message, until);
    BOOST_TEST_REQUIRE(!failed);
    BOOST_TEST(text_of(message, 1) == expected);
  }
  BOOST_TEST(link.try_receive(message) == make_error_code(errc::would_block));
}

asio::awaitable<void> wait_without_taking(wire& on) {
  zmq_socket publisher = on.open(zmq_socket::kind::publisher);
  BOOST_TEST_REQUIRE(!publisher.bind("tcp://127.0.0.1:*"));
  publisher_link link = make_link(on);
  BOOST_TEST(!link.has_notices());
  BOOST_TEST(!link.poll_connection().connected);
  connect(link, publisher.bound_endpoint());
  const auto until = soon();
  for (int i = 0; i < 3; ++i) {  // as often as anybody asks, and does not look
    const error_code news = co_await link.wait(until);
    BOOST_TEST(!news);
    BOOST_TEST(link.has_notices());
  }
  BOOST_TEST(link.poll_connection().connected);
  BOOST_TEST(link.poll_connection().connects == 1U);
  BOOST_TEST(!link.has_notices());
  co_await get_heard(publisher, link);
  publisher_message message;
  BOOST_TEST(link.try_receive(message) == make_error_code(errc::would_block));  // until then there may be something

  const auto shortly = wire_clock::now() + 30ms;
  const error_code nothing = co_await link.wait(shortly);
  BOOST_TEST(nothing == make_error_code(errc::timed_out));
  BOOST_TEST((wire_clock::now() >= shortly));
  const error_code late = co_await link.wait(shortly);
  BOOST_TEST(late == make_error_code(errc::timed_out));

  send(publisher, "topic", "1", "payload");
  for (int i = 0; i < 3; ++i) {
    const error_code there = co_await link.wait(until);
    BOOST_TEST(!there);
    BOOST_TEST(!link.has_notices());
  }
  BOOST_TEST(!link.try_receive(message));
  BOOST_TEST(text_of(message, 2) == "payload");
  link.close();
  BOOST_TEST(text_of(message, 2) == "payload");
  const error_code closed = co_await link.wait(until);
  BOOST_TEST(closed == make_error_code(errc::closed));
  BOOST_TEST(link.try_receive(message) == make_error_code(errc::closed));
  BOOST_TEST(!link.poll_connection().connected);
}

asio::awaitable<void> wait_forever(publisher_link& link, error_code& ended) {
  co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
  co_await asio::this_coro::throw_if_cancelled(false);
  ended = co_await link.wait(wire_clock::time_point::max());
  error_code again;
  again = co_await link.wait(wire_clock::time_point::max());  // a cancelled coroutine must not go to sleep again
  BOOST_TEST(again == ended);
}

asio::awaitable<void> wait_as_usual(publisher_link& link, error_code& ended) {
  ended = co_await link.wait(wire_clock::time_point::max());
}

/// Runs `waiter` and, once it sleeps, does `what` to it. None: it sleeps on; the link is closed in the end.
std::optional<error_code> end_wait(wire& on, publisher_link& link, asio::awaitable<void> (*waiter)(publisher_link&, error_code&),
                                   const std::function<void(asio::cancellation_signal&)>& what) {
  error_code ended;
  const auto close = [&link] { link.close(); };
  const bool is_ended_by_that = on.end_sleep(waiter(link, ended), what, close);
  return is_ended_by_that ? std::optional(ended) : std::nullopt;
}

asio::awaitable<void> hear_successors(wire& on, std::string endpoint) {
  publisher_link link = make_link(on);
  publisher_message message;
  for (std::uint64_t life = 1; life <= 3; ++life) {
    zmq_socket publisher = on.open(zmq_socket::kind::publisher);
    endpoint = co_await bind_after(publisher, endpoint);
    if (life == 1) connect(link, endpoint);
    co_await get_heard(publisher, link);
    send(publisher, "topic", std::to_string(life), "payload");
    const auto until = soon();
    const error_code failed = co_await receive(link, message, until);
    BOOST_TEST_REQUIRE(!failed);
    BOOST_TEST(text_of(message, 1) == std::to_string(life));
    BOOST_TEST(message.connection() == life);
    BOOST_TEST(link.poll_connection().connected);
    BOOST_TEST(link.poll_connection().connects == life);
    BOOST_TEST(link.poll_connection().disconnects == life - 1);
    publisher.close();
    co_await learn(link, [](const connection_seen& seen) { return !seen.connected; });
    BOOST_TEST(link.poll_connection().disconnects == life);
    BOOST_TEST(!link.poll_connection().given_up);
  }
}

asio::awaitable<void> hear_who_comes_late(wire& on, std::string endpoint) {
  publisher_link link = make_link(on);
  connect(link, endpoint);
  publisher_message message;
  const auto shortly = wire_clock::now() + 50ms;  // several tries
  const error_code nothing = co_await receive(link, message, shortly);
  BOOST_TEST(nothing == make_error_code(errc::timed_out));
  BOOST_TEST(link.poll_connection().connects == 0U);
  BOOST_TEST(!link.has_notices());  // of tries that fail nothing is told
  zmq_socket publisher = on.open(zmq_socket::kind::publisher);
  co_await bind_after(publisher, endpoint);
  co_await get_heard(publisher, link);
  BOOST_TEST(link.poll_connection().connects == 1U);
  BOOST_TEST(link.poll_connection().disconnects == 0U);
}

asio::awaitable<void> pass_over_misshapen(wire& on) {
  zmq_socket publisher = on.open(zmq_socket::kind::publisher);
  BOOST_TEST_REQUIRE(!publisher.bind("tcp://127.0.0.1:*"));
  publisher_link link = make_link(on);
  connect(link, publisher.bound_endpoint());
  co_await get_heard(publisher, link);
  const std::string much(300'000, 'm');
  const std::vector<std::string_view> many(60, much);
  const std::array<std::string_view, 4> one_too_many{"topic", "", "", much};
  const std::array<std::string_view, 1> lone{"lone"};
  for (int round = 0; round < 2; ++round) {
    BOOST_TEST_REQUIRE(!publisher.try_send(many));
    BOOST_TEST_REQUIRE(!publisher.try_send(one_too_many));
    BOOST_TEST_REQUIRE(!publisher.try_send(lone));
  }
  publisher_message message;
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 2; ++i) {
      const auto until = soon();
      const error_code refused = co_await receive(link, message, until);
      BOOST_TEST(refused == make_error_code(errc::bad_frame_count));
      BOOST_TEST(message.size() == 0U);
    }
    const auto until = soon();
    const error_code failed = co_await receive(link, message, until);
    BOOST_TEST_REQUIRE(!failed);
    BOOST_TEST_REQUIRE(message.size() == 1U);
    BOOST_TEST(text_of(message, 0) == "lone");
    // The second time they wait for whoever receives.
    if (round == 0) co_await learn(link, [](const connection_seen&) { return true; });
  }
  BOOST_TEST(link.poll_connection().disconnects == 0U);
}

}  // namespace

BOOST_FIXTURE_TEST_CASE(messages_come_in_order_and_whole_over_tcp, wire) {
  run(hear_all_sizes(*this, "tcp://127.0.0.1:*"));
}

BOOST_FIXTURE_TEST_CASE(messages_come_in_order_and_whole_over_a_path, wire) {
  const temporary_folder folder;
  run(hear_all_sizes(*this, "ipc://" + folder.file("kv.sock")));
}

BOOST_FIXTURE_TEST_CASE(messages_come_in_order_and_whole_over_an_abstract_name, wire) {
  run(hear_all_sizes(*this, abstract_endpoint()));
}

BOOST_FIXTURE_TEST_CASE(messages_that_are_held_stay_as_they_came, wire) {
  // They lie where they were received, in memory that is used again.
  run(hold_messages(*this));
}

BOOST_FIXTURE_TEST_CASE(of_other_topics_nothing_comes, wire) {
  run(hear_one_topic(*this, "kv@engine"));
  run(hear_one_topic(*this, std::string(254, 't')));  // with what stands before it the longest of the short form
  run(hear_one_topic(*this, std::string(255, 't')));
}

BOOST_FIXTURE_TEST_CASE(a_wait_ends_for_news_for_messages_and_in_time_and_takes_nothing, wire) {
  // Idle streams sleep this way: what they are woken for must still be there.
  run(wait_without_taking(*this));
}

BOOST_FIXTURE_TEST_CASE(a_wait_is_cancelled_by_whatever_its_coroutine_lets_through, wire) {
  // Shutdown starts with total cancellation; a sleeping stream must notice and must not fall asleep again.
  using cancellation = asio::cancellation_type;
  for (const cancellation each : {cancellation::terminal, cancellation::partial, cancellation::total}) {
    publisher_link link = make_link(*this);
    const auto cancel = [each](asio::cancellation_signal& signal) { signal.emit(each); };
    const auto ended = end_wait(*this, link, wait_forever, cancel);
    BOOST_TEST_REQUIRE(ended.has_value());
    BOOST_TEST(*ended == make_error_code(errc::cancelled));
  }
  publisher_link link = make_link(*this);
  const auto cancel_gently = [](asio::cancellation_signal& signal) { signal.emit(cancellation::total); };
  BOOST_TEST(!end_wait(*this, link, wait_as_usual, cancel_gently).has_value());
}

BOOST_FIXTURE_TEST_CASE(a_wait_ends_when_the_link_is_closed_or_goes, wire) {
  // Whoever owns the link may close it under a waiting coroutine.
  publisher_link link = make_link(*this);
  const auto close = [&link](asio::cancellation_signal&) { link.close(); };
  BOOST_TEST((end_wait(*this, link, wait_forever, close) == make_error_code(errc::closed)));
  publisher_link other = make_link(*this);
  const auto replace = [this, &other](asio::cancellation_signal&) { other = make_link(*this); };
  BOOST_TEST((end_wait(*this, other, wait_as_usual, replace) == make_error_code(errc::closed)));
  std::optional<publisher_link> last(make_link(*this));
  const auto destroy = [&last](asio::cancellation_signal&) { last.reset(); };
  BOOST_TEST((end_wait(*this, *last, wait_as_usual, destroy) == make_error_code(errc::closed)));
}

BOOST_FIXTURE_TEST_CASE(a_publisher_that_comes_again_is_connected_to_anew, wire) {
  // A stream must know that its publisher was away before it believes the next number.
  run(hear_successors(*this, "tcp://127.0.0.1:*"));
  const temporary_folder folder;
  run(hear_successors(*this, "ipc://" + folder.file("kv.sock")));
}

BOOST_FIXTURE_TEST_CASE(a_publisher_that_comes_late_is_heard_from_then_on, wire) {
  // Registrations outlive engines, and are older than some.
  const held_port port;
  run(hear_who_comes_late(*this, "tcp://127.0.0.1:" + std::to_string(port.number())));
  const temporary_folder folder;
  run(hear_who_comes_late(*this, "ipc://" + folder.file("kv.sock")));
  run(hear_who_comes_late(*this, abstract_endpoint()));
}

BOOST_FIXTURE_TEST_CASE(a_message_of_too_many_frames_is_refused_and_the_next_one_is_not, wire) {
  run(pass_over_misshapen(*this));
}

BOOST_AUTO_TEST_SUITE_END()
