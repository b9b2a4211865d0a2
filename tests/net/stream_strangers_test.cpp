// Streams beside somebody who does not keep to the protocol: at the publisher's port before it came, at our own, or the publisher itself.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <boost/test/unit_test.hpp>

#include "tests/support/net/payloads.hpp"
#include "tests/support/net/stream_fixture.hpp"

BOOST_AUTO_TEST_SUITE(stream_strangers)

namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using kvc::core::connection_state;
using kvc::core::stream_state;
using kvc::test::fake_publisher;
using kvc::test::padded_payload;
using kvc::test::stored_payload;
using kvc::test::stream_fixture;
using kvc::test::tokens_from;

const tcp::endpoint any_port(asio::ip::address_v4::loopback(), 0);

kvc::net::stream_settings small_messages() {
  auto settings = kvc::test::quick_settings();
  settings.max_payload_bytes = 4'096;
  return settings;
}

struct small_fixture : stream_fixture {
  small_fixture() : stream_fixture(small_messages()) {}

  /// A stream gets one block, so many batches in a row that are above the limit, and the same block under ever new names, until it is
  /// found: what comes before the connection stands again is asked for. Answers how many batches are lost for good.
  [[nodiscard]] std::uint64_t lost_behind(fake_publisher& publisher, std::uint64_t batches) {
    BOOST_REQUIRE(await(fleet.add(registration(publisher))));
    publisher.publish(stored_payload({50}, {}, tokens_from(50, 1)));
    BOOST_REQUIRE(eventually([&] { return depth(tokens_from(50, 1)) == 1; }));
    for (std::uint64_t i = 1; i <= batches; ++i) publisher.publish(padded_payload(i, tokens_from(0, 1), std::string(8'192, 'x')));
    std::uint64_t name = 100;
    BOOST_TEST(eventually([&] {
      ++name;
      publisher.publish(stored_payload({name}, {}, tokens_from(0, 1)));
      return depth(tokens_from(0, 1)) == 1;
    }));
    BOOST_TEST(eventually([&] { return state() == stream_state::incomplete; }));
    return service()->status->missing.load();
  }
};

std::string at_port(std::uint16_t port) {
  return "tcp://127.0.0.1:" + std::to_string(port);
}

}  // namespace

BOOST_FIXTURE_TEST_CASE(a_frame_above_the_limit_costs_its_batch_and_no_other, small_fixture) {
  // The transport ends the connection for good then, and whoever does not connect anew is deaf without knowing it.
  fake_publisher publisher(engine, context, {});
  BOOST_TEST(lost_behind(publisher, 1) == 1U);
  BOOST_TEST(service()->status->bad_messages.load() > 0U);
}

BOOST_FIXTURE_TEST_CASE(two_in_a_row_cost_those_two, small_fixture) {
  // Each answer of the replay ends at the first of them, and one that leaves out the first at the second.
  fake_publisher publisher(engine, context, {});
  BOOST_TEST(lost_behind(publisher, 2) == 2U);
}

BOOST_FIXTURE_TEST_CASE(who_was_at_the_port_before_the_publisher_does_not_keep_the_stream_away, stream_fixture) {
  tcp::acceptor somebody(context, any_port);
  const std::uint16_t port = somebody.local_endpoint().port();
  kvc::core::registration wanted;
  {
    fake_publisher model(engine, context, {});
    wanted = registration(model);
    wanted.replay_endpoint.clear();
    wanted.endpoint = at_port(port);
  }
  BOOST_REQUIRE(await(fleet.add(wanted)));
  std::optional<tcp::socket> caller;
  somebody.async_accept([&](const boost::system::error_code& failed, tcp::socket accepted) {
    if (!failed) caller.emplace(std::move(accepted));
  });
  BOOST_REQUIRE(eventually([&] { return caller.has_value(); }));
  asio::write(*caller, asio::buffer(std::string(64, '\xff')));
  BOOST_REQUIRE(eventually([&] { return service()->status->bad_messages.load() > 0; }));
  caller.reset();
  somebody.close();

  fake_publisher publisher(engine, context, {.endpoint = at_port(port)});
  BOOST_TEST(eventually([&] { return service()->status->connection.load() == connection_state::connected; }));
}

BOOST_FIXTURE_TEST_CASE(a_replay_endpoint_of_another_publisher_fills_no_gap, stream_fixture) {
  // Its batches have our numbers, and blocks that our engine never had.
  fake_publisher publisher(engine, context, {});
  fake_publisher neighbour(engine, context, {});
  auto wanted = registration(publisher);
  wanted.replay_endpoint = neighbour.replay_endpoint();
  BOOST_REQUIRE(await(fleet.add(wanted)));
  std::uint64_t published = 0;
  BOOST_REQUIRE(eventually([&] {  // until the subscription has arrived
    publisher.publish(stored_payload({1}, {}, tokens_from(0, 1)));
    ++published;
    return depth(tokens_from(0, 1)) == 1;
  }));
  for (std::uint64_t i = 0; i <= published; ++i) neighbour.publish(stored_payload({70 + i}, {}, tokens_from(700, 1)));

  publisher.lose_live(stored_payload({2}, 1, tokens_from(4, 1)));
  publisher.publish(stored_payload({3}, {}, tokens_from(8, 1)));

  BOOST_TEST(eventually([&] { return depth(tokens_from(8, 1)) == 1 && state() == stream_state::incomplete; }));
  BOOST_TEST(depth(tokens_from(700, 1)) == 0U);
  constexpr auto foreign = static_cast<std::size_t>(kvc::core::replay_outcome::foreign);
  BOOST_TEST(service()->status->replays_by_outcome[foreign].load() >= 1U);
  BOOST_TEST(service()->status->restarts.load() == 0U);
}

BOOST_FIXTURE_TEST_CASE(who_calls_at_our_port_and_says_nothing_sensible_is_not_the_publisher, stream_fixture) {
  std::uint16_t port = 0;
  {
    const tcp::acceptor probe(context, any_port);
    port = probe.local_endpoint().port();
  }
  fake_publisher publisher(engine, context, {.endpoint = at_port(port), .connects = true});
  auto wanted = registration(publisher);
  wanted.bind = true;
  BOOST_REQUIRE(await(fleet.add(wanted)));
  BOOST_REQUIRE(eventually([&] { return service()->status->connection.load() == connection_state::connected; }));
  publisher.publish(stored_payload({1}, {}, tokens_from(0, 1)));
  BOOST_REQUIRE(eventually([&] { return depth(tokens_from(0, 1)) == 1; }));

  for (int i = 0; i < 3; ++i) {
    tcp::socket stranger(context);
    stranger.connect({asio::ip::address_v4::loopback(), port});
    asio::write(stranger, asio::buffer(std::string(64, '\0')));
    // Whatever it is answered with, in the end the connection is closed.
    boost::system::error_code ended;
    (void)stranger.shutdown(tcp::socket::shutdown_send, ended);
    std::string answer(4'096, '\0');
    while (!ended) stranger.read_some(asio::buffer(answer), ended);
  }

  publisher.lose_live(stored_payload({2}, 1, tokens_from(4, 1)));
  publisher.publish(stored_payload({3}, 2, tokens_from(8, 1)));
  BOOST_TEST(eventually([&] { return depth(tokens_from(0, 3)) == 3; }));
  BOOST_TEST((service()->status->connection.load() == connection_state::connected));
  BOOST_TEST((state() == stream_state::whole));
}

BOOST_AUTO_TEST_SUITE_END()
