// Stores and engines over real sockets: what a router sees of objects that a store holds for everybody.
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "net/event_encode.hpp"
#include "tests/support/net/engines_fixture.hpp"
#include "tests/support/net/payloads.hpp"

BOOST_AUTO_TEST_SUITE(pool_stream)

namespace {

using namespace kvc;
using kvc::test::api_fixture;
using kvc::test::fake_publisher;
using kvc::test::removed_payload;
using kvc::test::stored_payload;
using kvc::test::tokens_from;

/// Two engines and a store; further engines of the names hold nothing.
struct store_and_engines : kvc::test::engines_fixture {
  std::unique_ptr<fake_publisher> store = std::make_unique<fake_publisher>(service.engine, context, fake_publisher::options{});

  void join_all(const std::string& more_of_store = R"(,"shards":2)") {
    join(first, "first");
    join(second, "second");
    join(*store, "store", "Mooncake", more_of_store);
    BOOST_REQUIRE(service.join("idle").status == 200);
  }

  void publish(core::event what, net::event_form form = net::event_form::mooncake_master) {
    core::event_batch batch;
    batch.timestamp_s = 1763700000 + static_cast<double>(++published_);  // no two payloads are alike
    batch.events.push_back(std::move(what));
    net::encode_options options;
    options.form = form;
    std::string payload;
    net::encode_batch(batch, service.media, options, payload);
    store->publish(payload);
  }
  void put(const std::string& key, core::medium_id medium = core::medium_id::cpu) {
    core::object_event made;
    made.scope.object_key = key;
    made.scope.medium = medium;
    publish(made);
  }
  void take(const std::string& key) {
    core::object_event made;
    made.scope.object_key = key;
    made.what = core::object_event::change::removed;
    publish(made);
  }

 private:
  int published_ = 0;
};

/// The connector's key for a block that vLLM calls `name`.
std::string key_of(unsigned name, unsigned rank) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string hex(64, '0');
  for (std::size_t i = 0; i < 16; ++i) hex[63 - i] = digits[(std::uint64_t{name} >> (4 * i)) & 15];
  return "m@tp_rank:" + std::to_string(rank) + "@pcp0@dcp0@pp_rank:0@" + hex;
}

}  // namespace

BOOST_AUTO_TEST_CASE(parts_of_a_store_s_blocks_count_for_every_instance_once_all_are_there) {
  // The engines came first; the parts of the blocks come one by one.
  store_and_engines at;
  at.join_all();
  at.first.publish(stored_payload({1, 2}, {}, tokens_from(0, 2)));
  BOOST_TEST(at.reaches("first", tokens_from(0, 2), 8));
  at.put(key_of(1, 0));
  at.put(key_of(2, 0));
  at.put(key_of(2, 1));
  BOOST_TEST(
      at.shows("/services?instance_id=store", R"("pool":{"objects":3,"waiting":0,"doubtful":0,"incomplete":1,"joined":2,"dropped":0})"));
  BOOST_TEST(at.reaches("idle", tokens_from(0, 2), 0));
  at.put(key_of(1, 1));
  BOOST_TEST(at.reaches("idle", tokens_from(0, 2), 8));
  BOOST_TEST(at.row_of("idle", tokens_from(0, 2)).find(R"("GPU":0,"DP":{"0":8},"CPU":8,"DISK":0)") != std::string::npos);
  BOOST_TEST(at.row_of("idle", tokens_from(0, 2), R"(,"detail":true)").find(R"("pools":8)") != std::string::npos);
  at.take(key_of(2, 0));
  BOOST_TEST(at.reaches("idle", tokens_from(0, 2), 4));
  BOOST_TEST(at.shows("/metrics", R"(kvc_stream_pool_incomplete_blocks{tenant="default",instance="store",rank="0",class="pool"} 1)"));
  BOOST_TEST(at.shows("/global_view", R"("pools":1,"pool_names":2)"));
}

BOOST_AUTO_TEST_CASE(a_store_that_comes_first_is_joined_by_engines_of_every_lane) {
  // Its objects wait under names that nobody knows; whichever engine brings them joins them, on its own lane.
  store_and_engines at;
  at.join(*at.store, "store", "Mooncake", R"(,"shards":1)");
  for (const unsigned name : {1U, 2U, 3U}) at.put(key_of(name, 0));
  BOOST_TEST(at.shows("/services?instance_id=store", R"("pool":{"objects":3,"waiting":3,)"));
  at.join(at.first, "first");
  at.join(at.second, "second");
  BOOST_REQUIRE(at.service.join("idle").status == 200);
  at.first.publish(stored_payload({1}, {}, tokens_from(0, 1)));
  at.second.publish(stored_payload({1, 2, 3}, {}, tokens_from(0, 3)));
  BOOST_TEST(at.reaches("idle", tokens_from(0, 3), 12));
  at.first.publish(removed_payload({1}));
  at.second.publish(removed_payload({1, 2, 3}));
  BOOST_TEST(at.shows("/services?instance_id=second", R"("GPU":0)"));
  BOOST_TEST(at.reaches("second", tokens_from(0, 3), 12));
  BOOST_TEST(at.shows("/metrics", R"(kvc_stream_pool_joined_blocks_total{tenant="default",instance="store",rank="0",class="pool"} 3)"));
}

BOOST_AUTO_TEST_CASE(without_a_number_of_parts_a_store_s_blocks_count_after_a_while) {
  // Nothing is registered and the keys do not tell: the clock does, without any further event.
  store_and_engines at;
  at.join_all("");
  at.first.publish(stored_payload({1}, {}, tokens_from(0, 1)));
  at.put(key_of(1, 0));
  BOOST_TEST(at.reaches("idle", tokens_from(0, 1), 4));
}

BOOST_AUTO_TEST_CASE(engines_of_two_recipes_each_find_their_objects) {
  // They name equal blocks differently, so their objects are others; either is the block for everybody.
  store_and_engines at;
  at.join_all(R"(,"shards":1)");
  at.first.publish(stored_payload({1, 2}, {}, tokens_from(0, 2)));
  at.second.publish(stored_payload({101, 102}, {}, tokens_from(0, 2)));
  at.put(key_of(1, 0));
  at.put(key_of(102, 0));
  BOOST_TEST(at.reaches("idle", tokens_from(0, 2), 8));
  at.put(key_of(2, 0));
  at.take(key_of(102, 0));
  at.take(key_of(1, 0));
  BOOST_TEST(at.reaches("idle", tokens_from(0, 2), 0));
}

BOOST_AUTO_TEST_CASE(a_store_that_begins_again_has_what_it_tells_anew) {
  // A new process on the same address: nothing of the old one may be left, parts included.
  store_and_engines at;
  at.join_all();
  at.first.publish(stored_payload({1, 2}, {}, tokens_from(0, 2)));
  for (const unsigned name : {1U, 2U}) {
    for (const unsigned rank : {0U, 1U}) at.put(key_of(name, rank));
  }
  BOOST_TEST(at.reaches("idle", tokens_from(0, 2), 8));
  const std::string endpoint = at.store->endpoint();
  const std::string replay = at.store->replay_endpoint();
  at.store->stop();
  at.store = std::make_unique<fake_publisher>(at.service.engine, at.context,
                                              fake_publisher::options{.endpoint = endpoint, .replay_endpoint = replay});
  (void)at.store->lose_forever();  // a master's numbers begin with 1
  at.put(key_of(1, 0));
  at.put(key_of(1, 1));
  at.put(key_of(2, 1));
  BOOST_TEST(at.shows("/services?instance_id=store", R"("pool":{"objects":3,"waiting":0,"doubtful":0,"incomplete":1,)"));
  BOOST_TEST(at.reaches("idle", tokens_from(0, 2), 4));

  BOOST_TEST(at.service.post("/unregister", R"({"instance_id":"store"})").status == 200);
  BOOST_TEST(at.reaches("idle", tokens_from(0, 2), 0));
  BOOST_TEST(at.shows("/global_view", R"("pools":0,"pool_names":0)"));
}

BOOST_AUTO_TEST_CASE(tokens_in_a_store_s_events_need_no_engine) {
  // The first format: hash, parent hash and tokens with each object; updates with all replicas; one event that removes all.
  store_and_engines at;
  at.join_all("");
  const auto told = [](unsigned name, unsigned parent) {
    core::object_event made;
    made.scope.object_key = "key_" + std::to_string(name);
    made.replicas = {{core::medium_id::cpu, "tcp://10.0.0.1:6000"}, {core::medium_id::disk, "/data/1"}};
    made.name = core::engine_hash{name};
    if (parent != 0) made.parent = core::engine_hash{parent};
    made.tokens = tokens_from((name - 1) * 4, 1);
    return made;
  };
  at.publish(told(2, 1), net::event_form::mooncake_array);
  at.publish(told(1, 0), net::event_form::mooncake_array);
  BOOST_TEST(at.reaches("idle", tokens_from(0, 2), 8));
  core::object_event moved;
  moved.scope.object_key = "key_2";
  moved.what = core::object_event::change::updated;
  moved.replicas = {{core::medium_id::disk, "/data/2"}};
  at.publish(moved, net::event_form::mooncake_array);
  BOOST_TEST(
      at.eventually([&] { return at.row_of("idle", tokens_from(0, 2)).find(R"("DP":{"0":8},"CPU":4,"DISK":8)") != std::string::npos; }));
  at.publish(core::cleared_event{}, net::event_form::mooncake_array);
  BOOST_TEST(at.reaches("idle", tokens_from(0, 2), 0));
}

BOOST_AUTO_TEST_CASE(the_number_of_parts_is_a_matter_of_pools) {
  // A wrong registration is told at once.
  api_fixture service;
  BOOST_TEST(service.join("a", 0, "vLLM", R"(,"shards":2)").status == 400);
  BOOST_TEST(service.join("a", 0, "Mooncake", R"(,"shards":0)").status == 400);
  BOOST_TEST(service.join("a", 0, "Mooncake", R"(,"shards":100000)").status == 400);
  BOOST_TEST(service.join("a", 0, "Mooncake", R"(,"shards":2)").status == 200);
  BOOST_TEST(service.get("/services").body.find(R"("shards":2)") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
