// How a stream comes by its socket: what it waits for, what it does not wait for, and how it ends meanwhile.
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/test/unit_test.hpp>

#include "tests/support/net/held_port.hpp"
#include "tests/support/net/payloads.hpp"
#include "tests/support/net/stream_fixture.hpp"
#include "tests/support/temporary_folder.hpp"

BOOST_AUTO_TEST_SUITE(stream_opening)

namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using kvc::core::connection_state;
using kvc::core::stream_state;
using kvc::test::fake_publisher;
using kvc::test::stored_payload;
using kvc::test::stream_fixture;
using kvc::test::tokens_from;

const std::string nowhere = "tcp://no-such-host.invalid:5557";

/// Silence is noticed soon, but not before names would be looked up anew.
kvc::net::stream_settings hasty_settings() {
  auto settings = kvc::test::quick_settings();
  settings.idle_check = std::chrono::milliseconds(10);
  settings.stale_after = std::chrono::milliseconds(500);
  return settings;
}

/// A pause lasts as long as a test.
kvc::net::stream_settings patient_settings() {
  auto settings = kvc::test::quick_settings();
  settings.idle_check = std::chrono::minutes(10);
  return settings;
}

/// Waits until the stream hears what is said, by what is no batch: a connection that stands does not mean that the publisher knows yet who
/// listens, and what it publishes before that is lost.
bool reaches(stream_fixture& stage, fake_publisher& publisher) {
  return stage.eventually([&] {
    publisher.send_raw({"is anybody there"});
    return stage.service()->status->bad_messages.load() > 0;
  });
}

struct hasty_fixture : stream_fixture {
  hasty_fixture() : stream_fixture(hasty_settings()) {}
};

struct patient_fixture : stream_fixture {
  patient_fixture() : stream_fixture(patient_settings()) {}

  fake_publisher publisher{engine, context, {}};

  /// A stream whose port is taken by the publisher itself, in the pause before its next try.
  void add_without_socket() {
    auto wanted = registration(publisher);
    wanted.bind = true;
    BOOST_REQUIRE(await(fleet.add(wanted)));
    BOOST_REQUIRE(eventually([&] { return service()->status->connection.load() == connection_state::failed; }));
  }

  template <class T>
  bool ends(asio::awaitable<T> work) {
    auto done = asio::co_spawn(context, std::move(work), asio::use_future);
    return eventually([&] { return done.wait_for(std::chrono::seconds(0)) == std::future_status::ready; });
  }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(a_replay_endpoint_that_is_not_found_does_not_keep_the_stream_away, stream_fixture) {
  // The publisher is there; only what is lost on the way cannot be had again.
  fake_publisher publisher(engine, context, {});
  auto wanted = registration(publisher);
  wanted.replay_endpoint = nowhere;
  BOOST_REQUIRE(await(fleet.add(wanted)));
  BOOST_REQUIRE(reaches(*this, publisher));

  publisher.publish(stored_payload({1}, {}, tokens_from(0, 1)));

  BOOST_TEST(eventually([&] { return depth(tokens_from(0, 1)) == 1; }));
  BOOST_TEST(eventually([&] { return state() == stream_state::whole; }));
}

BOOST_FIXTURE_TEST_CASE(a_connection_that_comes_or_breaks_is_told_at_once, patient_fixture) {
  // However seldom an idle stream looks around: an operator who asks must not be told that a publisher is there which has gone.
  BOOST_REQUIRE(await(fleet.add(registration(publisher))));
  BOOST_TEST(eventually([&] { return service()->status->connection.load() == connection_state::connected; }));
  BOOST_REQUIRE(reaches(*this, publisher));
  publisher.publish(stored_payload({1}, {}, tokens_from(0, 1)));
  BOOST_REQUIRE(eventually([&] { return state() == stream_state::whole; }));
  publisher.stop();
  BOOST_TEST(eventually([&] { return service()->status->connection.load() == connection_state::disconnected; }));
  fake_publisher reborn(engine, context, {.endpoint = publisher.endpoint(), .replay_endpoint = publisher.replay_endpoint()});
  BOOST_TEST(eventually([&] { return service()->status->connection.load() == connection_state::connected; }));
}

BOOST_FIXTURE_TEST_CASE(who_binds_stays_bound_while_nobody_comes, hasty_fixture) {
  // However the replay endpoint is named: a publisher that comes in the moment without a port is refused.
  const kvc::test::held_port port;
  fake_publisher model(engine, context, {});
  auto wanted = registration(model);
  wanted.bind = true;
  wanted.endpoint = "tcp://127.0.0.1:" + std::to_string(port.number());
  wanted.replay_endpoint = "tcp://localhost:9";
  BOOST_REQUIRE(await(fleet.add(wanted)));
  tcp::socket caller(context);
  const auto is_called = [&] {
    boost::system::error_code failed;
    caller.close(failed);
    caller.connect({asio::ip::address_v4::loopback(), port.number()}, failed);
    return !failed;
  };
  BOOST_REQUIRE(eventually(is_called));

  BOOST_REQUIRE(eventually([&] { return state() == stream_state::stale; }));

  caller.non_blocking(true);
  boost::system::error_code now;
  std::string greeting(4'096, '\0');
  while (!now) caller.read_some(asio::buffer(greeting), now);
  BOOST_TEST(now == asio::error::would_block, now.message());
}

BOOST_FIXTURE_TEST_CASE(a_stream_that_cannot_open_another_socket_is_not_connected_any_more, hasty_fixture) {
  // Of two publishers at one port one leaves: the stream listens afresh, and cannot. It would count as connected for ever.
  const kvc::test::temporary_folder folder;
  const auto at = folder.path() / "of_the_socket";
  std::filesystem::create_directory(at);
  const std::string endpoint = "ipc://" + (at / "kv").string();
  fake_publisher first(engine, context, {.endpoint = endpoint, .connects = true, .topic = "kv"});
  fake_publisher second(engine, context, {.endpoint = endpoint, .connects = true, .topic = "kv"});
  auto wanted = registration(first);
  wanted.topic = "kv";
  wanted.bind = true;
  wanted.replay_endpoint.clear();
  wanted.after_loss = kvc::core::loss_policy::keep;
  BOOST_REQUIRE(await(fleet.add(wanted)));
  // Both are there by what they say, which is no batch of this stream: with each batch that it counts, a break has to last longer for the
  // publisher to have been replaced meanwhile.
  const auto& heard = *service()->status;
  BOOST_REQUIRE(eventually([&] {
    first.send_raw({"kv"});
    return heard.bad_messages.load() > 0;
  }));
  BOOST_REQUIRE(eventually([&] {
    second.send_raw({"kv of somebody else", std::string(8, '\0'), "x"});
    return heard.other_topics.load() > 0;
  }));
  first.publish(stored_payload({101}, {}, tokens_from(0, 1)));
  BOOST_REQUIRE(eventually([&] { return depth(tokens_from(0, 1)) == 1; }));

  std::filesystem::rename(at, folder.path() / "elsewhere");
  first.stop();

  BOOST_REQUIRE(eventually([&] { return service()->status->connection.load() == connection_state::failed; }));
  BOOST_TEST(eventually([&] { return state() == stream_state::stale; }));
}

BOOST_FIXTURE_TEST_CASE(a_registration_that_is_changed_gets_the_address_of_its_predecessor, patient_fixture) {
  // Which is bound there until it has ended; a pause that is as long as that of an idle stream is time in which nothing is heard.
  const kvc::test::held_port port;
  fake_publisher caller(engine, context, {.endpoint = "tcp://127.0.0.1:" + std::to_string(port.number()), .connects = true});
  auto wanted = registration(caller);
  wanted.bind = true;
  wanted.replay_endpoint.clear();
  std::uint64_t name = 100;
  const auto is_heard = [&](std::uint32_t tokens) {
    caller.publish(stored_payload({++name}, {}, tokens_from(tokens, 1)));
    return depth(tokens_from(tokens, 1)) == 1;
  };
  BOOST_REQUIRE(await(fleet.add(wanted)));
  BOOST_REQUIRE(eventually([&] { return is_heard(0); }));

  wanted.after_loss = kvc::core::loss_policy::keep;
  const auto changed = await(fleet.add(wanted));

  BOOST_REQUIRE(changed);
  BOOST_TEST(changed->replaced);
  BOOST_TEST(eventually([&] { return is_heard(4); }));
  BOOST_TEST(service()->generation.get() == 2U);
}

BOOST_FIXTURE_TEST_CASE(who_is_unregistered_does_not_wait_for_the_next_try, patient_fixture) {
  add_without_socket();
  BOOST_TEST(ends(fleet.remove({.tenant = "default", .instance = "engine-1", .rank = {}, .kind = {}})));
}

BOOST_FIXTURE_TEST_CASE(who_is_replaced_does_not_wait_for_the_next_try, patient_fixture) {
  add_without_socket();
  BOOST_TEST(ends(fleet.add(registration(publisher))));
}

BOOST_AUTO_TEST_SUITE_END()
