// Streams over real loopback sockets in each of their states: what leaves, what stays, and what is said of it.
#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/post.hpp>
#include <boost/test/unit_test.hpp>

#include "tests/support/net/heard_log.hpp"
#include "tests/support/net/payloads.hpp"
#include "tests/support/net/stream_fixture.hpp"

BOOST_AUTO_TEST_SUITE(stream_states)

namespace {

using kvc::core::connection_state;
using kvc::core::loss_policy;
using kvc::core::stream_state;
using kvc::test::fake_publisher;
using kvc::test::heard_log;
using kvc::test::removed_payload;
using kvc::test::stored_payload;
using kvc::test::stream_fixture;
using kvc::test::tokens_from;

/// Silence is noticed soon, and a replay that is not answered lasts as long as a test.
kvc::net::stream_settings settings_for_states() {
  auto settings = kvc::test::quick_settings();
  settings.stale_after = std::chrono::milliseconds(200);
  settings.replay_timeout = std::chrono::minutes(10);
  return settings;
}

/// A stream that has been brought into a state, and its publisher.
struct state_fixture : stream_fixture {
  explicit state_fixture(kvc::net::stream_settings settings = settings_for_states()) : stream_fixture(settings) {}

  fake_publisher publisher{engine, context, {}};
  const std::string first = stored_payload({1}, {}, tokens_from(0, 1));  ///< the very same bytes are proof of who published them

  void join(const std::function<void(kvc::core::registration&)>& change = {}) {
    auto wanted = registration(publisher);
    if (change) change(wanted);
    BOOST_REQUIRE(await(fleet.add(wanted)));
    reach(stream_state::whole);
  }
  void reach(stream_state wanted) {
    BOOST_REQUIRE(eventually([&] { return state() == wanted; }));
  }
  void hold_a_block() {
    publisher.publish(first);
    BOOST_REQUIRE(eventually([&] { return depth(tokens_from(0, 1)) == 1; }));
  }

  void bring_to(stream_state wanted) {
    switch (wanted) {
      case stream_state::joining: {
        auto nowhere = registration(publisher);
        nowhere.endpoint = "tcp://127.0.0.1:9";
        BOOST_REQUIRE(await(fleet.add(nowhere)));
        return reach(wanted);
      }
      case stream_state::catching_up:
        publisher.publish(stored_payload({1}, {}, tokens_from(0, 1)));
        publisher.answer(false);
        BOOST_REQUIRE(await(fleet.add(registration(publisher))));
        return reach(wanted);
      case stream_state::whole: join(); return hold_a_block();
      case stream_state::recovering:
        join();
        hold_a_block();
        publisher.answer(false);
        publisher.lose_live(stored_payload({2}, 1, tokens_from(4, 1)));
        publisher.publish(stored_payload({3}, 2, tokens_from(8, 1)));
        return reach(wanted);
      case stream_state::incomplete:
        join([](auto& change) { change.after_loss = loss_policy::keep; });
        hold_a_block();
        publisher.lose_forever();
        publisher.publish(stored_payload({3}, 1, tokens_from(8, 1)));
        return reach(wanted);
      case stream_state::stale:
        join();
        hold_a_block();
        publisher.stop();
        return reach(wanted);
      case stream_state::stopped: return;
    }
  }
};

constexpr stream_state lively_states[] = {stream_state::joining,    stream_state::catching_up, stream_state::whole,
                                          stream_state::recovering, stream_state::incomplete,  stream_state::stale};

}  // namespace

BOOST_AUTO_TEST_CASE(unregistering_in_any_state_leaves_nothing) {
  // A replay on the way, a gap half filled, a publisher that is away: none of it may bring a block back.
  for (const stream_state each : lively_states) {
    BOOST_TEST_CONTEXT(kvc::core::to_string(each)) {
      state_fixture under_test;
      under_test.bring_to(each);
      const auto home = under_test.catalog.view().get()->partitions.begin()->second->partition;

      const auto removed = under_test.await(under_test.fleet.remove({.tenant = "default", .instance = "engine-1", .rank = {}, .kind = {}}));

      BOOST_TEST(removed.size() == 1U);
      BOOST_TEST(home->index().blocks() == 0U);
      BOOST_TEST(under_test.catalog.view().get()->partitions.empty());
    }
  }
}

BOOST_AUTO_TEST_CASE(replacing_in_any_state_begins_anew) {
  // The new registration's publisher is another one: it has nothing of what the old one held, and is whole by itself.
  for (const stream_state each : lively_states) {
    BOOST_TEST_CONTEXT(kvc::core::to_string(each)) {
      state_fixture under_test;
      under_test.bring_to(each);
      fake_publisher other(under_test.engine, under_test.context, {});
      other.publish(stored_payload({7}, {}, tokens_from(700, 1)));

      const auto replaced = under_test.await(under_test.fleet.add(under_test.registration(other)));

      BOOST_REQUIRE(replaced);
      BOOST_TEST(replaced->replaced);
      BOOST_TEST(under_test.depth(tokens_from(0, 1)) == 0U);
      BOOST_TEST(under_test.eventually([&] { return under_test.depth(tokens_from(700, 1)) == 1; }));
      BOOST_TEST(under_test.eventually([&] { return under_test.state() == stream_state::whole; }));
      BOOST_TEST(under_test.service()->status->generation.load() == 2U);
    }
  }
}

BOOST_AUTO_TEST_CASE(unregistering_in_the_middle_of_a_batch_leaves_nothing) {
  // The rest of the batch may open a partition after its worker has left all it was in.
  auto settings = settings_for_states();
  settings.blocks_per_turn = 1;
  state_fixture under_test(settings);
  under_test.join();
  std::vector<std::uint64_t> names;
  for (std::uint64_t i = 0; i < 2'000; ++i) names.push_back(i + 1);
  const std::uint64_t batches = under_test.lanes.at(0).counters.batches.get() + under_test.lanes.at(1).counters.batches.get();
  under_test.publisher.publish(kvc::test::stored_one_by_one_payload(names, "adapter"));

  const auto removed = under_test.await(under_test.fleet.remove({.tenant = "default", .instance = "engine-1", .rank = {}, .kind = {}}));

  BOOST_TEST(removed.size() == 1U);
  BOOST_TEST(under_test.catalog.view().get()->partitions.empty());
  BOOST_TEST(under_test.lanes.at(0).counters.batches.get() + under_test.lanes.at(1).counters.batches.get() <= batches + 1);
}

BOOST_AUTO_TEST_CASE(a_publisher_that_is_away_becomes_stale_and_comes_back) {
  // Nobody knows what it holds now; the same publisher with the same last batch is as good as before.
  state_fixture under_test;
  under_test.bring_to(stream_state::stale);
  BOOST_TEST(under_test.depth(tokens_from(0, 1)) == 1U);  // told, not taken away
  BOOST_TEST((under_test.service()->status->connection.load() == connection_state::disconnected));

  fake_publisher reborn(under_test.engine, under_test.context,
                        {.endpoint = under_test.publisher.endpoint(), .replay_endpoint = under_test.publisher.replay_endpoint()});
  reborn.publish(under_test.first);
  reborn.publish(stored_payload({2}, 1, tokens_from(4, 1)));

  BOOST_TEST(under_test.eventually([&] { return under_test.depth(tokens_from(0, 2)) == 2; }));
  BOOST_TEST(under_test.eventually([&] { return under_test.state() == stream_state::whole; }));
  BOOST_TEST(under_test.service()->status->restarts.load() == 0U);
}

BOOST_AUTO_TEST_CASE(blocks_of_a_publisher_that_stays_away_leave_when_that_is_wanted) {
  // A machine that burned down sends no farewell.
  auto settings = settings_for_states();
  settings.evict_after = std::chrono::milliseconds(300);
  state_fixture under_test(settings);
  under_test.bring_to(stream_state::stale);

  BOOST_TEST(under_test.eventually([&] { return under_test.depth(tokens_from(0, 1)) == 0; }));
  BOOST_TEST((under_test.state() == stream_state::stale));
  BOOST_TEST(under_test.service()->status->last_seqno.load() == kvc::core::stream_status::no_seqno);

  fake_publisher reborn(under_test.engine, under_test.context,
                        {.endpoint = under_test.publisher.endpoint(), .replay_endpoint = under_test.publisher.replay_endpoint()});
  reborn.publish(stored_payload({1}, {}, tokens_from(0, 1)));
  BOOST_TEST(under_test.eventually([&] { return under_test.depth(tokens_from(0, 1)) == 1; }));
  BOOST_TEST(under_test.eventually([&] { return under_test.state() == stream_state::whole; }));
}

BOOST_AUTO_TEST_CASE(a_stream_that_expects_idleness_is_never_stale) {
  // A publisher that only connects when it has something to say. Another stream of the same settings shows that the time has passed.
  state_fixture under_test;
  under_test.join([](auto& change) { change.expects_idle = true; });
  fake_publisher other(under_test.engine, under_test.context, {});
  BOOST_REQUIRE(under_test.await(under_test.fleet.add(under_test.registration(other, "engine-2"))));
  BOOST_REQUIRE(under_test.eventually([&] { return under_test.state("engine-2") == stream_state::whole; }));
  under_test.publisher.stop();
  BOOST_REQUIRE(under_test.eventually([&] { return under_test.service()->status->connection.load() == connection_state::disconnected; }));
  other.stop();

  BOOST_REQUIRE(under_test.eventually([&] { return under_test.state("engine-2") == stream_state::stale; }));

  BOOST_TEST((under_test.state() == stream_state::whole));
}

BOOST_AUTO_TEST_CASE(a_registration_may_keep_what_a_lost_batch_may_have_removed) {
  // Some would rather have a few wrong hits than none for a while.
  state_fixture under_test;
  under_test.bring_to(stream_state::incomplete);

  BOOST_TEST(under_test.depth(tokens_from(0, 1)) == 1U);
  BOOST_TEST(under_test.service()->status->doubted.load() == 0U);
}

BOOST_AUTO_TEST_CASE(a_removal_that_was_lost_leaves_no_stale_hit) {
  // What the loss policy is for: the engine has evicted the block, the event is gone for good.
  state_fixture under_test;
  under_test.join();
  under_test.hold_a_block();
  under_test.publisher.lose_forever();  // a removal, for example
  under_test.publisher.publish(stored_payload({9}, {}, tokens_from(900, 1)));

  BOOST_TEST(under_test.eventually([&] { return under_test.depth(tokens_from(900, 1)) == 1; }));

  BOOST_TEST(under_test.depth(tokens_from(0, 1)) == 0U);
  BOOST_TEST((under_test.state() == stream_state::incomplete));
}

BOOST_AUTO_TEST_CASE(a_batch_spoilt_on_the_way_is_replaced_by_its_copy) {
  // A bad batch is a gap like any other, and the publisher's buffer has it.
  state_fixture under_test;
  under_test.join();
  under_test.publisher.publish_spoilt(stored_payload({1}, {}, tokens_from(0, 1)), "no msgpack at all");
  under_test.publisher.publish(stored_payload({2}, 1, tokens_from(4, 1)));

  BOOST_TEST(under_test.eventually([&] { return under_test.depth(tokens_from(0, 2)) == 2; }));

  BOOST_TEST((under_test.state() == stream_state::whole));
  BOOST_TEST(under_test.service()->status->bad_batches.load() == 1U);
  BOOST_TEST(under_test.service()->status->missing.load() == 0U);
}

BOOST_AUTO_TEST_CASE(every_form_of_replay_reply_ends) {
  // Three or four frames, the marker before or in the payload's place, or none at all.
  for (const bool four : {false, true}) {
    for (const bool last : {false, true}) {
      for (const bool marks : {false, true}) {
        auto settings = kvc::test::quick_settings();
        settings.replay_timeout = std::chrono::milliseconds(100);
        stream_fixture under_test(settings);
        fake_publisher publisher(under_test.engine, under_test.context, {.four_frames = four, .marks_end = marks, .marks_end_last = last});
        publisher.publish(stored_payload({1, 2}, {}, tokens_from(0, 2)));

        BOOST_REQUIRE(under_test.await(under_test.fleet.add(under_test.registration(publisher))));

        BOOST_TEST(
            under_test.eventually([&] { return under_test.depth(tokens_from(0, 2)) == 2 && under_test.state() == stream_state::whole; }));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(a_reply_of_another_topic_is_none) {
  // A replay endpoint that is another publisher's: what it holds is not what this stream holds.
  stream_fixture under_test;
  fake_publisher named(under_test.engine, under_test.context, {.topic = "kv@mine"});
  fake_publisher other(under_test.engine, under_test.context, {.topic = "kv@other"});
  other.publish(stored_payload({1}, {}, tokens_from(0, 1)));
  auto wanted = under_test.registration(named);
  wanted.topic = "kv@mine";
  wanted.replay_endpoint = other.replay_endpoint();
  BOOST_REQUIRE(under_test.await(under_test.fleet.add(wanted)));

  BOOST_TEST(under_test.eventually([&] { return under_test.service()->status->other_topics.load() == 1U; }));
  BOOST_TEST(under_test.eventually([&] { return under_test.service()->status->replays.load() == 1U; }));
  BOOST_TEST(under_test.depth(tokens_from(0, 1)) == 0U);
}

BOOST_AUTO_TEST_CASE(only_the_registered_topic_counts) {
  // The transport compares beginnings: a neighbour whose topic begins alike comes through.
  state_fixture under_test;
  fake_publisher named(under_test.engine, under_test.context, {.topic = "kv@10.0.0.1"});
  auto wanted = under_test.registration(named);
  wanted.topic = "kv@10.0.0.1";
  BOOST_REQUIRE(under_test.await(under_test.fleet.add(wanted)));
  under_test.reach(stream_state::whole);

  const std::string zero(8, '\0');
  named.send_raw({"kv@10.0.0.10", zero, stored_payload({5}, {}, tokens_from(500, 1))});
  named.publish(stored_payload({1}, {}, tokens_from(0, 1)));

  BOOST_TEST(under_test.eventually([&] { return under_test.depth(tokens_from(0, 1)) == 1; }));
  BOOST_TEST(under_test.depth(tokens_from(500, 1)) == 0U);
  BOOST_TEST(under_test.service()->status->other_topics.load() == 1U);
  BOOST_TEST(under_test.service()->status->restarts.load() == 0U);
}

BOOST_AUTO_TEST_CASE(publishers_that_connect_are_served) {
  // vLLM connects when its endpoint names a host: then we bind, and several restarts of it find the same address.
  state_fixture under_test;
  std::string endpoint;
  {
    kvc::net::zmq_socket probe(under_test.engine, under_test.context.get_executor(), kvc::net::zmq_socket::kind::subscriber);
    BOOST_REQUIRE(!probe.bind("tcp://127.0.0.1:*"));
    endpoint = probe.bound_endpoint();
  }
  fake_publisher caller(under_test.engine, under_test.context, {.endpoint = endpoint, .connects = true});
  caller.publish(stored_payload({1}, {}, tokens_from(0, 1)));
  auto wanted = under_test.registration(caller);
  wanted.bind = true;
  BOOST_REQUIRE(under_test.await(under_test.fleet.add(wanted)));

  under_test.reach(stream_state::whole);
  BOOST_TEST(under_test.eventually([&] { return under_test.depth(tokens_from(0, 1)) == 1; }));
  BOOST_TEST((under_test.service()->status->connection.load() == connection_state::connected));
  caller.publish(stored_payload({2}, 1, tokens_from(4, 1)));
  BOOST_TEST(under_test.eventually([&] { return under_test.depth(tokens_from(0, 2)) == 2; }));

  caller.stop();
  BOOST_REQUIRE(under_test.eventually([&] { return under_test.service()->status->connection.load() == connection_state::disconnected; }));
  fake_publisher again(under_test.engine, under_test.context,
                       {.endpoint = endpoint, .replay_endpoint = caller.replay_endpoint(), .connects = true});
  again.publish(stored_payload({7}, {}, tokens_from(700, 1)));

  BOOST_TEST(under_test.eventually([&] { return under_test.depth(tokens_from(700, 1)) == 1; }));
  BOOST_TEST(under_test.depth(tokens_from(0, 1)) == 0U);
  BOOST_TEST(under_test.service()->status->restarts.load() == 1U);
}

BOOST_AUTO_TEST_CASE(what_does_not_fit_the_queues_is_a_gap_that_heals) {
  // A lane that stands still for a while must cost neither memory without bound nor blocks.
  constexpr std::uint64_t batches = 600;
  auto settings = kvc::test::quick_settings();
  settings.receive_high_water = 16;
  settings.replay_timeout = std::chrono::seconds(10);
  stream_fixture under_test(settings);
  fake_publisher publisher(under_test.engine, under_test.context, {.send_high_water = 16});
  BOOST_REQUIRE(under_test.await(under_test.fleet.add(under_test.registration(publisher))));
  BOOST_REQUIRE(under_test.eventually([&] { return under_test.state() == stream_state::whole; }));
  std::promise<void> go_on;
  boost::asio::post(under_test.lanes.at(under_test.service()->lane).context, [held = go_on.get_future().share()] { held.wait(); });
  // Large enough that the buffers of the network cannot hold them all.
  const std::string padding(64'000, 'x');
  for (std::uint64_t i = 0; i < batches; ++i) {
    publisher.publish(kvc::test::padded_payload(i + 1, tokens_from(static_cast<std::uint32_t>(i * 4), 1), padding));
  }
  go_on.set_value();

  BOOST_TEST(under_test.eventually([&] {
    publisher.publish(stored_payload({99'999}, {}, tokens_from(90'000, 1)));  // tells of the gap, however much was dropped
    return under_test.depth(tokens_from(90'000, 1)) == 1 && under_test.state() == stream_state::whole;
  }));

  BOOST_TEST(under_test.service()->status->gaps.load() > 0U);
  BOOST_TEST(under_test.service()->status->missing.load() == 0U);
  for (std::uint64_t i = 0; i < batches; ++i) {
    BOOST_TEST(under_test.depth(tokens_from(static_cast<std::uint32_t>(i * 4), 1)) == 1U);
  }
}

BOOST_AUTO_TEST_CASE(each_change_of_state_is_one_line) {
  // Who reads the log must be able to follow a stream, and not be flooded by it.
  const heard_log log;
  {
    state_fixture under_test;
    under_test.bring_to(stream_state::incomplete);
    BOOST_TEST(under_test.eventually([&] { return under_test.service()->status->last_seqno.load() == 2; }));
    BOOST_TEST(under_test.await(under_test.fleet.remove({.tenant = "default", .instance = "engine-1", .rank = {}, .kind = {}})).size() ==
               1U);
  }

  std::vector<std::string> changes;
  for (const std::string& each : log.lines()) {
    if (!each.starts_with("stream state instance=engine-1 ")) continue;
    const std::size_t from = each.find("from=");
    changes.push_back(each.substr(from, each.find(" missing=") - from));
  }
  const std::vector<std::string> expected{"from=joining to=catching_up seqno=none", "from=catching_up to=whole seqno=none",
                                          "from=whole to=recovering seqno=0", "from=recovering to=incomplete seqno=1",
                                          "from=incomplete to=stopped seqno=2"};
  BOOST_TEST(changes == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()
