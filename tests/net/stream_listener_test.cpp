// Streams over real loopback sockets: joining, gaps, rubbish, and leaving; see stream_restart_test for publishers that come back.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/post.hpp>
#include <boost/test/unit_test.hpp>

#include "tests/support/net/joined_fixture.hpp"
#include "tests/support/net/payloads.hpp"

BOOST_AUTO_TEST_SUITE(stream_listener)

namespace {

using kvc::core::stream_state;
using kvc::test::cleared_payload;
using kvc::test::fake_publisher;
using kvc::test::joined_fixture;
using kvc::test::removed_payload;
using kvc::test::stored_payload;
using kvc::test::stream_fixture;
using kvc::test::tokens_from;

}  // namespace

BOOST_FIXTURE_TEST_CASE(stored_blocks_are_found_and_removed_ones_are_not, joined_fixture) {
  // The shortest way through the whole product: socket, decoder, index, answer.
  const auto prompt = tokens_from(100, 3);
  engine_1.publish(stored_payload({11, 12, 13}, {}, prompt));
  BOOST_TEST(eventually([&] { return depth(prompt) == 3; }));

  engine_1.publish(removed_payload({12}));
  BOOST_TEST(eventually([&] { return depth(prompt) == 1; }));

  engine_1.publish(stored_payload({12}, 11, tokens_from(104, 1)));
  BOOST_TEST(eventually([&] { return depth(prompt) == 3; }));
}

BOOST_FIXTURE_TEST_CASE(blocks_that_go_on_a_page_of_another_size_are_found_however_close_they_come, joined_fixture) {
  // Tokens are hashed while they are read, unless a page needs them: here each page of six has two left for the block of four behind it.
  constexpr std::uint32_t chains = 1'000;
  for (std::uint32_t i = 0; i < chains; ++i) {
    const std::uint32_t first = i * 100;
    const std::uint64_t name = 10 * (i + 1);
    std::string page = stored_payload({name}, {}, tokens_from(first, 1, 6), 6);
    if (i % 2 != 0) page.replace(page.find("medium"), 6, "mediun");  // a member nobody knows takes the general way through the decoder
    engine_1.publish(page);
    engine_1.publish(stored_payload({name + 1}, name, tokens_from(first + 6, 1, 4), 4));
    engine_1.publish(stored_payload({name + 2}, name + 1, tokens_from(first + 10, 1, 6), 6));
  }

  BOOST_TEST(eventually([&] { return depth(tokens_from((chains - 1) * 100, 4)) == 4; }));
  for (std::uint32_t i = 0; i < chains; ++i) BOOST_TEST(depth(tokens_from(i * 100, 4)) == 4U, "chain " << i);
}

BOOST_FIXTURE_TEST_CASE(what_was_published_before_we_joined_is_replayed, stream_fixture) {
  // A PUB socket drops everything before the subscription arrives; only a replay from 0 closes that.
  fake_publisher engine_1(engine, context, {});
  const auto prompt = tokens_from(0, 4);
  engine_1.publish(stored_payload({1, 2}, {}, tokens_from(0, 2)));
  engine_1.publish(stored_payload({3, 4}, 2, tokens_from(8, 2)));

  BOOST_REQUIRE(await(fleet.add(registration(engine_1))));

  BOOST_TEST(eventually([&] { return depth(prompt) == 4 && state() == stream_state::whole; }));
  BOOST_TEST(service()->status->missing.load() == 0U);
}

BOOST_AUTO_TEST_CASE(a_long_replay_leaves_the_lane_to_others_in_between) {
  // Queries on the same lane must not wait for ten thousand batches.
  constexpr std::uint64_t batches = 600;
  auto settings = kvc::test::quick_settings();
  settings.batches_per_turn = 8;
  stream_fixture under_test(settings);
  fake_publisher engine_1(under_test.engine, under_test.context, {});
  for (std::uint64_t i = 0; i < batches; ++i)
    engine_1.publish(stored_payload({i + 1}, {}, tokens_from(static_cast<std::uint32_t>(i * 4), 1)));
  // Other work of the lane: looks, each time it gets a turn, how much has been applied since its last one.
  struct bystander {
    kvc::net::lane& here;
    std::uint64_t seen = 0;
    std::uint64_t longest_turn = 0;
    void look() {
      const std::uint64_t now = here.counters.batches.get();
      longest_turn = std::max(longest_turn, now - seen);
      seen = now;
      if (now != batches) boost::asio::post(here.context, [this] { look(); });
    }
  };
  bystander other{under_test.lanes.at(0)};
  std::atomic<bool> is_finished{false};
  boost::asio::post(other.here.context, [&] { other.look(); });

  BOOST_REQUIRE(under_test.await(under_test.fleet.add(under_test.registration(engine_1))));
  BOOST_REQUIRE(under_test.eventually([&] { return other.here.counters.batches.get() == batches; }));
  boost::asio::post(other.here.context, [&] { is_finished = true; });  // behind the look that is queued, which is the last
  BOOST_REQUIRE(under_test.eventually([&] { return is_finished.load(); }));

  BOOST_TEST(other.longest_turn <= settings.batches_per_turn);
}

BOOST_FIXTURE_TEST_CASE(a_gap_is_filled_before_the_batch_behind_it_counts, joined_fixture) {
  // A batch the transport dropped is in the publisher's buffer.
  const auto prompt = tokens_from(0, 3);
  engine_1.publish(stored_payload({1}, {}, tokens_from(0, 1)));
  engine_1.lose_live(stored_payload({2}, 1, tokens_from(4, 1)));
  engine_1.publish(stored_payload({3}, 2, tokens_from(8, 1)));

  BOOST_TEST(eventually([&] { return depth(prompt) == 3 && state() == stream_state::whole; }));
  BOOST_TEST(service()->status->gaps.load() == 1U);
  BOOST_TEST(service()->status->missing.load() == 0U);
}

BOOST_FIXTURE_TEST_CASE(a_block_whose_parent_is_missing_waits_until_a_replay_brings_it, joined_fixture) {
  // An engine may tell of a block before its parent, and the batch with the parent may be dropped: that of the blocks behind it, which were
  // applied long ago, has to count then.
  const auto prompt = tokens_from(0, 3);
  engine_1.publish(stored_payload({2, 3}, 1, tokens_from(4, 2)));
  BOOST_REQUIRE(eventually([&] { return service()->status->orphans.load() == 2U; }));
  BOOST_TEST(depth(prompt) == 0U);
  BOOST_TEST(depth(tokens_from(4, 2)) == 0U);  // no root

  engine_1.lose_live(stored_payload({1}, {}, tokens_from(0, 1)));
  engine_1.publish(stored_payload({9}, {}, tokens_from(900, 1)));  // tells of the gap

  BOOST_TEST(eventually([&] { return depth(prompt) == 3; }));
  BOOST_TEST(eventually([&] { return service()->status->orphans.load() == 0U && state() == stream_state::whole; }));
  BOOST_TEST(service()->status->gaps.load() == 1U);
  BOOST_TEST(service()->status->missing.load() == 0U);
  BOOST_TEST(depth(tokens_from(4, 2)) == 0U);
}

BOOST_FIXTURE_TEST_CASE(a_parent_in_a_dropped_last_batch_joins_what_waits_for_it, joined_fixture) {
  // Nothing comes behind it that would tell of the gap: the publisher is asked when the stream has fallen silent.
  engine_1.publish(stored_payload({2}, 1, tokens_from(4, 1)));
  BOOST_REQUIRE(eventually([&] { return service()->status->orphans.load() == 1U; }));

  engine_1.lose_live(stored_payload({1}, {}, tokens_from(0, 1)));

  BOOST_TEST(eventually([&] { return depth(tokens_from(0, 2)) == 2; }));
  BOOST_TEST(eventually([&] { return service()->status->orphans.load() == 0U && state() == stream_state::whole; }));
  BOOST_TEST(service()->status->gaps.load() == 0U);
}

BOOST_FIXTURE_TEST_CASE(a_lossy_replay_is_asked_again, joined_fixture) {
  // A publisher's ROUTER may drop replies on the way; the hole is in its buffer all the same.
  const auto prompt = tokens_from(0, 4);
  engine_1.publish(stored_payload({1}, {}, tokens_from(0, 1)));
  engine_1.lose_live(stored_payload({2}, 1, tokens_from(4, 1)));
  const auto dropped = engine_1.lose_live(stored_payload({3}, 2, tokens_from(8, 1)));
  engine_1.omit_from_replay(dropped, 1);
  engine_1.publish(stored_payload({4}, 3, tokens_from(12, 1)));

  BOOST_TEST(eventually([&] { return depth(prompt) == 4 && state() == stream_state::whole; }));
}

BOOST_FIXTURE_TEST_CASE(a_gap_that_cannot_be_filled_is_passed_and_shown, joined_fixture) {
  // The publisher could not encode a batch: its number exists, its bytes never will.
  engine_1.publish(stored_payload({1}, {}, tokens_from(0, 1)));
  engine_1.lose_forever();
  engine_1.publish(stored_payload({2}, 1, tokens_from(4, 1)));

  BOOST_TEST(eventually([&] { return service()->status->last_seqno.load() == 2 && state() == stream_state::incomplete; }));
  BOOST_TEST(service()->status->missing.load() == 1U);
  BOOST_TEST(depth(tokens_from(0, 1)) == 0U);  // the lost batch may have removed it
  BOOST_TEST(service()->status->doubted.load() == 1U);

  engine_1.publish(stored_payload({1, 2}, {}, tokens_from(0, 2)));

  BOOST_TEST(eventually([&] { return depth(tokens_from(0, 2)) == 2; }));
}

BOOST_FIXTURE_TEST_CASE(a_clear_of_everything_forgives_earlier_losses, joined_fixture) {
  // After a clear the worker holds nothing, so what was lost before cannot matter.
  engine_1.publish(stored_payload({1}, {}, tokens_from(0, 1)));
  engine_1.lose_forever();
  engine_1.publish(stored_payload({2}, 1, tokens_from(4, 1)));
  BOOST_REQUIRE(eventually([&] { return state() == stream_state::incomplete; }));

  engine_1.publish(cleared_payload());

  BOOST_TEST(eventually([&] { return state() == stream_state::whole; }));
  BOOST_TEST(depth(tokens_from(0, 2)) == 0U);
}

BOOST_FIXTURE_TEST_CASE(a_clear_of_one_medium_does_not_forgive_what_may_have_been_on_another, joined_fixture) {
  // Offloaded copies survive the reset of a device's cache, also those we never heard of.
  engine_1.publish(stored_payload({1}, {}, tokens_from(0, 1), 4, "CPU"));
  engine_1.publish(removed_payload({1}, "CPU"));
  engine_1.lose_forever();
  engine_1.publish(stored_payload({2}, {}, tokens_from(4, 1)));
  BOOST_REQUIRE(eventually([&] { return state() == stream_state::incomplete; }));

  engine_1.publish(cleared_payload());

  BOOST_REQUIRE(eventually([&] { return service()->status->last_seqno.load() == 4U; }));
  BOOST_TEST((state() == stream_state::incomplete));
  BOOST_TEST(service()->status->missing.load() == 1U);
}

BOOST_FIXTURE_TEST_CASE(the_newest_batch_may_come_twice, joined_fixture) {
  // A relay with two ways to us repeats it; a publisher that has started over would not say the same again.
  const std::string payload = stored_payload({1}, {}, tokens_from(0, 1));
  engine_1.publish(payload);
  engine_1.send_raw({"", std::string(8, '\0'), payload});
  engine_1.publish(stored_payload({2}, 1, tokens_from(4, 1)));

  BOOST_TEST(eventually([&] { return depth(tokens_from(0, 2)) == 2; }));
  BOOST_TEST(service()->status->restarts.load() == 0U);
  BOOST_TEST(service()->status->stale_batches.load() == 1U);
}

BOOST_FIXTURE_TEST_CASE(a_publisher_without_answers_does_not_stop_its_stream, stream_fixture) {
  // A wrong replay endpoint must cost a bounded pause and honesty, not the stream.
  fake_publisher engine_1(engine, context, {.answers = false});
  engine_1.publish(stored_payload({9}, {}, tokens_from(900, 1)));
  BOOST_REQUIRE(await(fleet.add(registration(engine_1))));
  BOOST_REQUIRE(eventually([&] { return service()->status->connection.load() == kvc::core::connection_state::connected; }));

  // The subscription travels after the handshake: publish until something arrives.
  BOOST_TEST(eventually([&] {
    engine_1.publish(stored_payload({1}, {}, tokens_from(0, 1)));
    return depth(tokens_from(0, 1)) == 1;
  }));
  BOOST_TEST((state() == stream_state::incomplete));
  BOOST_TEST(service()->status->missing.load() > 0U);
  BOOST_TEST(service()->status->replays_failed.load() > 0U);
}

BOOST_FIXTURE_TEST_CASE(old_replay_replies_of_three_frames_are_understood, stream_fixture) {
  // vLLM before 0.26 and SGLang send no topic frame.
  fake_publisher engine_1(engine, context, {.four_frames = false});
  engine_1.publish(stored_payload({1, 2}, {}, tokens_from(0, 2)));

  BOOST_REQUIRE(await(fleet.add(registration(engine_1))));

  BOOST_TEST(eventually([&] { return depth(tokens_from(0, 2)) == 2 && state() == stream_state::whole; }));
}

BOOST_FIXTURE_TEST_CASE(rubbish_is_counted_and_costs_nothing_else, joined_fixture) {
  // A bad message never costs its stream; a bad payload is a lost batch, and said so.
  engine_1.send_raw({"only one frame"});
  engine_1.send_raw({"", "short", "x"});
  engine_1.send_raw({"", std::string(8, '\0'), "x", "a fourth frame"});
  BOOST_TEST(eventually([&] { return service()->status->rejected.load() == 3U; }));
  BOOST_TEST((state() == stream_state::whole));

  engine_1.publish("this is no msgpack batch");
  engine_1.publish(stored_payload({1}, {}, tokens_from(0, 1)));

  BOOST_TEST(eventually([&] { return depth(tokens_from(0, 1)) == 1; }));
  BOOST_TEST(service()->status->rejected.load() == 5U);  // and the copy of it, which was asked for
  BOOST_TEST((state() == stream_state::incomplete));
  BOOST_TEST(service()->status->missing.load() == 1U);
}

BOOST_FIXTURE_TEST_CASE(unregistering_removes_every_block_before_it_answers, joined_fixture) {
  // Routers must not be sent to an engine that has left.
  engine_1.publish(stored_payload({1, 2}, {}, tokens_from(0, 2)));
  BOOST_REQUIRE(eventually([&] { return depth(tokens_from(0, 2)) == 2; }));
  const auto home = catalog.view().get()->partitions.begin()->second->partition;

  const auto removed = await(fleet.remove({.tenant = "default", .instance = "engine-1", .rank = {}, .kind = {}}));

  BOOST_TEST(removed.size() == 1U);
  BOOST_TEST(home->index().blocks() == 0U);
  BOOST_TEST(catalog.view().get()->partitions.empty());
  BOOST_TEST(fleet.view().get()->empty());
  BOOST_TEST(await(fleet.remove({.tenant = "default", .instance = "engine-1", .rank = {}, .kind = {}})).empty());
}

BOOST_FIXTURE_TEST_CASE(a_stream_goes_on_its_own_lane_whoever_ends_it, stream_fixture) {
  // What it holds is entered in its lane's lists. The control lane used to let go of it last, beside whatever its lane was doing (the
  // stream itself looks where it goes).
  std::vector<std::unique_ptr<fake_publisher>> engines;
  bool is_elsewhere = false;
  for (std::uint32_t i = 0; i < 4; ++i) {
    const std::string name = "engine-" + std::to_string(i);
    engines.push_back(std::make_unique<fake_publisher>(engine, context, fake_publisher::options()));
    engines.back()->publish(stored_payload({1, 2}, {}, tokens_from(0, 2)));
    BOOST_REQUIRE(await(fleet.add(registration(*engines.back(), name))));
    BOOST_REQUIRE(eventually([&] { return depth(tokens_from(0, 2), name) == 2; }));
    is_elsewhere = is_elsewhere || service(name)->lane != 0;
  }
  BOOST_TEST(is_elsewhere);
  for (std::uint32_t i = 0; i < 4; ++i) {
    auto changed = registration(*engines[i], "engine-" + std::to_string(i));
    changed.expects_idle = true;
    const auto replaced = await(fleet.add(changed));
    BOOST_REQUIRE(replaced);
    BOOST_TEST(replaced->replaced);
  }
  for (std::uint32_t i = 0; i < 4; ++i) {
    const std::string name = "engine-" + std::to_string(i);
    BOOST_TEST(eventually([&] { return depth(tokens_from(0, 2), name) == 2; }));
    BOOST_TEST(await(fleet.remove({.tenant = "default", .instance = name, .rank = {}, .kind = {}})).size() == 1U);
  }
  BOOST_TEST(catalog.view().get()->partitions.empty());
}

BOOST_FIXTURE_TEST_CASE(whoever_registers_last_wins_when_all_do_so_at_once, stream_fixture) {
  // Gateways that start together register the same engine, perhaps each in its own words.
  fake_publisher publisher(engine, context, {});
  publisher.publish(stored_payload({1}, {}, tokens_from(0, 1)));
  for (int round = 0; round < 5; ++round) {
    std::vector<std::future<kvc::net::result<kvc::net::fleet_service::added>>> adding;
    for (std::uint32_t i = 0; i < 12; ++i) {
      auto wanted = registration(publisher);
      wanted.topic = std::string(i, 't');
      adding.push_back(boost::asio::co_spawn(context, fleet.add(wanted), boost::asio::use_future));
    }
    auto last = boost::asio::co_spawn(context, fleet.add(registration(publisher)), boost::asio::use_future);
    const auto is_done = [](auto& each) { return each.wait_for(std::chrono::seconds(0)) == std::future_status::ready; };
    BOOST_TEST_REQUIRE(eventually([&] { return is_done(last) && std::ranges::all_of(adding, is_done); }));

    BOOST_TEST(fleet.view().get()->size() == 1U);
    BOOST_TEST(eventually([&] { return depth(tokens_from(0, 1)) == 1; }));
    BOOST_TEST(await(fleet.remove({.tenant = "default", .instance = "engine-1", .rank = {}, .kind = {}})).size() == 1U);
    BOOST_TEST(catalog.view().get()->partitions.empty());
  }
}

BOOST_FIXTURE_TEST_CASE(registering_again_is_free_and_registering_otherwise_replaces, joined_fixture) {
  // Gateways register on every start; only a change may cost the blocks.
  engine_1.publish(stored_payload({1}, {}, tokens_from(0, 1)));
  BOOST_REQUIRE(eventually([&] { return depth(tokens_from(0, 1)) == 1; }));
  const auto same = await(fleet.add(registration(engine_1)));
  BOOST_REQUIRE(same);
  BOOST_TEST(!same->changed);
  BOOST_TEST(depth(tokens_from(0, 1)) == 1U);

  fake_publisher other(engine, context, {});
  other.publish(stored_payload({5}, {}, tokens_from(500, 1)));
  const auto replaced = await(fleet.add(registration(other)));

  BOOST_REQUIRE(replaced);
  BOOST_TEST(replaced->changed);
  BOOST_TEST(replaced->replaced);
  BOOST_TEST(service()->generation.get() == 2U);
  BOOST_TEST(eventually([&] { return depth(tokens_from(500, 1)) == 1; }));
  BOOST_TEST(depth(tokens_from(0, 1)) == 0U);
}

BOOST_FIXTURE_TEST_CASE(a_partition_has_one_seed, joined_fixture) {
  // Blocks hashed under two seeds would never meet; the second publisher must hear it.
  auto wanted = registration(engine_1, "engine-2");
  wanted.hash_seed = 7;

  const auto refused = await(fleet.add(wanted));

  BOOST_TEST(!refused);
  BOOST_TEST((refused.error() == kvc::core::errc::seed_conflict));
  BOOST_TEST(fleet.view().get()->size() == 1U);
}

BOOST_FIXTURE_TEST_CASE(readiness_waits_for_streams_and_drain_ends_it, stream_fixture) {
  // A gateway that asks /readyz must not be told yes while a stream is still joining.
  fake_publisher engine_1(engine, context, {.answers = false});
  BOOST_REQUIRE(await(fleet.add(registration(engine_1))));
  BOOST_TEST(fleet.not_ready_because(std::chrono::steady_clock::now()).size() == 1U);
  BOOST_TEST(fleet.not_ready_because(std::chrono::steady_clock::now() + std::chrono::seconds(31)).empty());

  fleet.drain();

  BOOST_TEST(fleet.not_ready_because(std::chrono::steady_clock::now() + std::chrono::seconds(31)).front() == "draining");
  BOOST_TEST(!await(fleet.add(registration(engine_1, "engine-2"))));
}

BOOST_AUTO_TEST_SUITE_END()
