// Publishers that go away and come back over real loopback sockets: the same, or another one in their place.
#include <cstddef>
#include <cstdint>

#include <boost/test/unit_test.hpp>

#include "tests/support/net/joined_fixture.hpp"
#include "tests/support/net/payloads.hpp"

BOOST_AUTO_TEST_SUITE(stream_restarts)

namespace {

using kvc::core::stream_state;
using kvc::test::fake_publisher;
using kvc::test::joined_fixture;
using kvc::test::stored_payload;
using kvc::test::stream_fixture;
using kvc::test::tokens_from;

/// A publisher that cannot be asked, of which one block is known, and which has gone.
struct gone_without_replays : stream_fixture {
  fake_publisher engine_1{engine, context, {}};
  std::uint64_t published = 0;

  gone_without_replays() {
    auto wanted = registration(engine_1);
    wanted.replay_endpoint.clear();
    BOOST_REQUIRE(await(fleet.add(wanted)));
    BOOST_REQUIRE(eventually([&] {
      engine_1.publish(stored_payload({1}, {}, tokens_from(0, 1)));
      ++published;
      return depth(tokens_from(0, 1)) == 1;
    }));
    engine_1.stop();
    BOOST_REQUIRE(eventually([&] { return service()->status->connection.load() == kvc::core::connection_state::disconnected; }));
  }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(a_restarted_publisher_takes_its_old_blocks_with_it, joined_fixture) {
  // A restart sends no clear: the sequence going back is all there is.
  const auto old_prompt = tokens_from(0, 2);
  engine_1.publish(stored_payload({1, 2}, {}, old_prompt));
  engine_1.publish(stored_payload({3}, 2, tokens_from(8, 1)));
  BOOST_REQUIRE(eventually([&] { return depth(old_prompt) == 2; }));
  const auto generation = service()->status->generation.load();

  engine_1.stop();
  BOOST_REQUIRE(eventually([&] { return service()->status->connection.load() == kvc::core::connection_state::disconnected; }));
  BOOST_TEST(depth(old_prompt) == 2U);  // away is not gone
  fake_publisher reborn(engine, context, {.endpoint = engine_1.endpoint(), .replay_endpoint = engine_1.replay_endpoint()});
  reborn.publish(stored_payload({7}, {}, tokens_from(700, 1)));

  BOOST_TEST(eventually([&] { return depth(tokens_from(700, 1)) == 1; }));
  BOOST_TEST(depth(old_prompt) == 0U);
  BOOST_TEST(eventually([&] { return state() == stream_state::whole; }));
  BOOST_TEST(service()->status->restarts.load() == 1U);
  BOOST_TEST(service()->status->generation.load() == generation + 1);
}

BOOST_FIXTURE_TEST_CASE(a_restarted_publisher_that_is_ahead_is_still_recognised, joined_fixture) {
  // It published more batches than its predecessor before we were back: numbers alone would look contiguous.
  engine_1.publish(stored_payload({1}, {}, tokens_from(0, 1)));
  BOOST_REQUIRE(eventually([&] { return depth(tokens_from(0, 1)) == 1; }));

  engine_1.stop();
  BOOST_REQUIRE(eventually([&] { return service()->status->connection.load() == kvc::core::connection_state::disconnected; }));
  fake_publisher reborn(engine, context, {.endpoint = engine_1.endpoint(), .replay_endpoint = engine_1.replay_endpoint()});
  reborn.publish(stored_payload({21}, {}, tokens_from(200, 1)));
  reborn.publish(stored_payload({22}, 21, tokens_from(204, 1)));

  BOOST_TEST(eventually([&] { return depth(tokens_from(200, 2)) == 2; }));
  BOOST_TEST(depth(tokens_from(0, 1)) == 0U);
  BOOST_TEST(service()->status->restarts.load() == 1U);
}

BOOST_FIXTURE_TEST_CASE(a_lost_connection_alone_keeps_the_blocks, joined_fixture) {
  // Same publisher, same last batch: it proves itself by its replay, and nothing is forgotten.
  engine_1.publish(stored_payload({1}, {}, tokens_from(0, 1)));
  BOOST_REQUIRE(eventually([&] { return depth(tokens_from(0, 1)) == 1; }));
  const int replays_before = engine_1.replays_served();

  engine_1.break_connection(engine, context);
  engine_1.lose_live(stored_payload({2}, 1, tokens_from(4, 1)));

  BOOST_REQUIRE(eventually([&] { return engine_1.replays_served() > replays_before; }));
  BOOST_TEST(eventually([&] {
    engine_1.publish(stored_payload({3}, 2, tokens_from(8, 1)));
    return depth(tokens_from(0, 3)) == 3;
  }));
  BOOST_TEST(service()->status->restarts.load() == 0U);
  BOOST_TEST((state() == stream_state::whole));
}

BOOST_FIXTURE_TEST_CASE(what_an_ended_publisher_left_behind_is_not_taken_for_its_successors, stream_fixture) {
  // Its last batches wait in our queue while a replay is on; their numbers go on where the successor's replay ends.
  fake_publisher engine_1(engine, context, {.marks_end = false});  // so that the first replay lasts
  kvc::net::zmq_socket witness(engine, context.get_executor(), kvc::net::zmq_socket::kind::subscriber);
  BOOST_REQUIRE(!witness.subscribe(""));
  BOOST_REQUIRE(!witness.connect(engine_1.endpoint()));
  BOOST_REQUIRE(await(fleet.add(registration(engine_1))));
  BOOST_REQUIRE(eventually([&] { return engine_1.replays_served() > 0; }));
  kvc::net::zmq_message heard;
  BOOST_REQUIRE(eventually([&] {  // the subscription travels after the handshake
    engine_1.send_raw({"", "is anybody there"});
    return !witness.try_receive(heard);
  }));
  for (std::uint64_t i = 0; i < 4; ++i) engine_1.publish(stored_payload({i + 1}, {}, tokens_from(static_cast<std::uint32_t>(100 * i), 1)));
  BOOST_REQUIRE(eventually([&] { return !witness.try_receive(heard) && heard.size() == 3 && heard.frame(1).back() == std::byte{3}; }));

  engine_1.stop();
  fake_publisher reborn(engine, context, {.endpoint = engine_1.endpoint(), .replay_endpoint = engine_1.replay_endpoint()});
  reborn.lose_live(stored_payload({7}, {}, tokens_from(700, 1)));

  BOOST_TEST(eventually([&] { return depth(tokens_from(700, 1)) == 1 && state() == stream_state::whole; }));
  reborn.publish(stored_payload({8}, {}, tokens_from(800, 1)));
  BOOST_TEST(eventually([&] { return depth(tokens_from(800, 1)) == 1 && state() == stream_state::whole; }));
  for (std::uint32_t i = 0; i < 4; ++i) BOOST_TEST(depth(tokens_from(100 * i, 1)) == 0U);
}

BOOST_FIXTURE_TEST_CASE(what_a_life_between_two_restarts_left_behind_is_not_joined_to_the_next, joined_fixture) {
  // It is asked for a proof, which it does not give, and publishes and ends meanwhile (chaos seed 1795367805).
  engine_1.publish(stored_payload({1}, {}, tokens_from(0, 1)));
  BOOST_REQUIRE(eventually([&] { return depth(tokens_from(0, 1)) == 1; }));
  const auto connection_is = [&](kvc::core::connection_state what) { return service()->status->connection.load() == what; };
  engine_1.stop();
  BOOST_REQUIRE(eventually([&] { return connection_is(kvc::core::connection_state::disconnected); }));

  fake_publisher::options same_place{.endpoint = engine_1.endpoint(), .replay_endpoint = engine_1.replay_endpoint(), .answers = false};
  fake_publisher between(engine, context, same_place);
  BOOST_REQUIRE(eventually([&] { return connection_is(kvc::core::connection_state::connected) && state() == stream_state::recovering; }));
  kvc::net::zmq_socket witness(engine, context.get_executor(), kvc::net::zmq_socket::kind::subscriber);
  BOOST_REQUIRE(!witness.subscribe(""));
  BOOST_REQUIRE(!witness.connect(between.endpoint()));
  kvc::net::zmq_message heard;
  BOOST_REQUIRE(eventually([&] {
    between.send_raw({"", "is anybody there"});
    return !witness.try_receive(heard);
  }));
  for (std::uint64_t i = 0; i < 3; ++i) {
    between.publish(stored_payload({500 + i}, {}, tokens_from(static_cast<std::uint32_t>(500 + 10 * i), 1)));
  }
  BOOST_REQUIRE(eventually([&] { return !witness.try_receive(heard) && heard.size() == 3 && heard.frame(1).back() == std::byte{2}; }));
  between.stop();
  BOOST_REQUIRE(eventually([&] { return connection_is(kvc::core::connection_state::disconnected); }));

  same_place.answers = true;
  fake_publisher last(engine, context, same_place);
  last.lose_live(stored_payload({7}, {}, tokens_from(700, 1)));
  BOOST_REQUIRE(eventually([&] { return last.replays_served() > 0; }));
  for (std::uint64_t i = 0; i < 2; ++i) {
    last.lose_live(stored_payload({8 + i}, {}, tokens_from(static_cast<std::uint32_t>(800 + 100 * i), 1)));
  }
  BOOST_REQUIRE(eventually([&] { return depth(tokens_from(700, 1)) == 1 && connection_is(kvc::core::connection_state::connected); }));
  last.publish(stored_payload({10}, {}, tokens_from(1000, 1)));

  BOOST_TEST(eventually([&] { return depth(tokens_from(1000, 1)) == 1 && state() == stream_state::whole; }));
  for (std::uint32_t i = 0; i < 4; ++i) BOOST_TEST(depth(tokens_from(700 + 100 * i, 1)) == 1U);
  for (std::uint32_t i = 0; i < 3; ++i) BOOST_TEST(depth(tokens_from(500 + 10 * i, 1)) == 0U);
}

BOOST_FIXTURE_TEST_CASE(a_publisher_that_does_not_prove_itself_is_read_anew, joined_fixture) {
  // One that never marks the end of a replay says nothing at all when it is asked for a batch it does not have.
  engine_1.publish(stored_payload({1}, {}, tokens_from(0, 1)));
  engine_1.publish(stored_payload({2}, 1, tokens_from(4, 1)));
  BOOST_REQUIRE(eventually([&] { return depth(tokens_from(0, 2)) == 2; }));

  engine_1.stop();
  fake_publisher reborn(engine, context,
                        {.endpoint = engine_1.endpoint(), .replay_endpoint = engine_1.replay_endpoint(), .marks_end = false});
  reborn.lose_live(stored_payload({7}, {}, tokens_from(700, 1)));

  BOOST_TEST(eventually([&] { return depth(tokens_from(700, 1)) == 1; }));
  BOOST_TEST(depth(tokens_from(0, 2)) == 0U);
  BOOST_TEST(service()->status->missing.load() == 0U);
}

BOOST_FIXTURE_TEST_CASE(without_replays_a_successor_that_continues_the_count_is_not_taken_for_its_predecessor, gone_without_replays) {
  // It has published unseen as many batches as we had of the one before; its next number is the one we wait for (chaos seed 20263499).
  BOOST_TEST(depth(tokens_from(0, 1)) == 1U);  // away is not gone
  BOOST_TEST(!service()->recipe->sample().roots.empty());
  const std::uint64_t held = service()->status->last_seqno.load() + 1;
  fake_publisher reborn(engine, context, {.endpoint = engine_1.endpoint(), .replay_endpoint = engine_1.replay_endpoint()});
  for (std::uint64_t i = 0; i < held; ++i) reborn.lose_forever();

  BOOST_REQUIRE(eventually([&] { return service()->status->unproven.load() == 1; }));
  BOOST_TEST(eventually([&] { return depth(tokens_from(0, 1)) == 0; }));
  BOOST_TEST(eventually([&] { return service()->recipe->sample().roots.empty(); }));  // its names are not held against the successor's
  BOOST_TEST(eventually([&] {
    reborn.publish(stored_payload({7}, {}, tokens_from(700, 1)));
    return depth(tokens_from(700, 1)) == 1;
  }));
  BOOST_TEST(depth(tokens_from(0, 1)) == 0U);
  BOOST_TEST((state() == stream_state::incomplete));
}

BOOST_FIXTURE_TEST_CASE(without_replays_an_absence_and_a_hole_end_what_was_known, gone_without_replays) {
  // It may be another process, and nobody can be asked: blocks that may be gone are worse than blocks that are not told.
  fake_publisher reborn(engine, context, {.endpoint = engine_1.endpoint(), .replay_endpoint = engine_1.replay_endpoint()});
  for (std::uint64_t i = 0; i <= published; ++i) reborn.lose_forever();

  BOOST_TEST(eventually([&] {
    reborn.publish(stored_payload({7}, {}, tokens_from(700, 1)));
    return depth(tokens_from(700, 1)) == 1;
  }));
  BOOST_TEST(depth(tokens_from(0, 1)) == 0U);
  BOOST_TEST((state() == stream_state::incomplete));
}

BOOST_AUTO_TEST_SUITE_END()
