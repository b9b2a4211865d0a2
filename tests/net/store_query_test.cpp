// What queries have promoted of objects that connectors name as engines name their blocks, over sockets.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "tests/support/net/payloads.hpp"
#include "tests/support/net/store_blocks.hpp"
#include "tests/support/net/store_fixture.hpp"
#include "tests/support/net/stub_master.hpp"

namespace kvc::test {
BOOST_AUTO_TEST_SUITE(store_queries)

namespace {

/// An engine that stores a prompt of three blocks, 101 to 103, and forgets it, and a store that keeps it on its disk, the first also in
/// memory.
struct connector_fixture : store_fixture {
  explicit connector_fixture(const net::store_settings& settings = quick_stores()) : store_fixture(settings) {
    open_pool("store-1", R"(,"shards":1)");
    publisher.emplace(engine, context, fake_publisher::options{});
    const raw_answer answer = call("POST", "/register",
                                   R"({"endpoint":")" + publisher->endpoint() + R"(","replay_endpoint":")" + publisher->replay_endpoint() +
                                       R"(","type":"vLLM","modelname":"m","instance_id":"engine","block_size":4})");
    BOOST_REQUIRE(answer.status == 200);
    publisher->publish(stored_payload({101, 102, 103}, {}, tokens_from(1, 3)));
    BOOST_REQUIRE(shows(R"("GPU":12)"));
    for (std::uint32_t i = 0; i < 3; ++i) {
      master.put(connector_key(101 + i), {.memory = i == 0, .local_disk = true});
      publish({put(connector_key(101 + i), core::medium_id::disk)}, net::event_form::mooncake_branch);
    }
    publish({put(connector_key(101), core::medium_id::cpu)}, net::event_form::mooncake_branch);
    BOOST_REQUIRE(shows(R"("GPU":12,"DP":{"0":12},"CPU":4,"DISK":12)"));
    publisher->publish(removed_payload({101, 102, 103}));
    BOOST_REQUIRE(shows(R"("GPU":0,"DP":{"0":12},"CPU":4,"DISK":12)"));
  }

  static core::event put(const std::string& key, core::medium_id medium) {
    core::object_event event;
    event.scope.object_key = key;
    event.scope.medium = medium;
    return event;
  }
  std::string query(const std::string& more = "") {
    return call("POST", "/query",
                R"({"model":"m","block_size":4,"instance_id":"engine","token_ids":[1,2,3,4,5,6,7,8,9,10,11,12])" + more + "}")
        .body;
  }
  bool shows(const std::string& text) {
    return eventually([&] { return query().find(text) != std::string::npos; });
  }

  stub_master master;
  std::optional<fake_publisher> publisher;
};

struct watchful_connector_fixture : connector_fixture {
  static net::store_settings settings() {
    net::store_settings with = quick_stores();
    with.reconcile_age = std::chrono::milliseconds(0);
    with.reconcile_rate = 100'000;
    return with;
  }
  watchful_connector_fixture() : connector_fixture(settings()) {}
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(objects_that_only_engines_can_name_are_promoted_behind_a_query, connector_fixture) {
  add_store(master.url());
  static_cast<void>(query(R"(,"prefetch":true,"prefetch_max_blocks":1)"));

  BOOST_TEST(shows(R"("CPU":8,"DISK":12)"));
  BOOST_TEST(master.hits(connector_key(102)) == 2);
  BOOST_TEST(master.hits(connector_key(103)) == 0);
  BOOST_TEST(master.hits(connector_key(101)) == 0);
}

// Engines of two models may call a block alike, and the store keeps both.
BOOST_FIXTURE_TEST_CASE(objects_of_another_model_are_not_promoted, connector_fixture) {
  for (std::uint32_t i = 0; i < 3; ++i) {
    const std::string other = connector_key(101 + i, 0, "other");
    master.put(other, {.local_disk = true});
    publish({put(other, core::medium_id::disk)}, net::event_form::mooncake_branch);
  }
  BOOST_REQUIRE(becomes(R"({"key":")" + connector_key(103, 0, "other") + R"("})", R"({"exists":1})"));
  add_store(master.url());
  static_cast<void>(query(R"(,"prefetch":true,"prefetch_max_blocks":1)"));

  BOOST_TEST(shows(R"("CPU":8,"DISK":12)"));
  BOOST_TEST(master.hits(connector_key(102)) == 2);
  BOOST_TEST(metric(R"(kvc_prefetch_requests_total{outcome="started"})") == 1);
  BOOST_TEST(master.hits(connector_key(102, 0, "other")) == 0);
}

// What an answer is to show is one thing, what the instance lacks another: filters promoted its first blocks, which it has.
BOOST_FIXTURE_TEST_CASE(what_an_answer_leaves_out_is_not_promoted, connector_fixture) {
  add_store(master.url());
  static_cast<void>(query(R"(,"prefetch":true,"prefetch_max_blocks":1,"media":["disk"])"));
  BOOST_TEST(shows(R"("CPU":8,"DISK":12)"));
  BOOST_TEST(master.hits(connector_key(101)) == 0);

  // No row of the instance that is preferred.
  static_cast<void>(call("POST", "/query",
                         R"({"model":"m","block_size":4,"token_ids":[1,2,3,4,5,6,7,8,9,10,11,12],"preferred":"engine","prefetch":true,)"
                         R"("prefetch_max_blocks":1,"min_match":1000})"));
  BOOST_TEST(shows(R"("CPU":12,"DISK":12)"));
  BOOST_TEST(master.hits(connector_key(101)) == 0);
}

// A hole in what the store has ends the walk: what stands behind it is of no use.
BOOST_FIXTURE_TEST_CASE(nothing_is_promoted_behind_a_block_that_the_store_does_not_have, connector_fixture) {
  core::object_event gone = std::get<core::object_event>(put(connector_key(102), core::medium_id::disk));
  gone.what = core::object_event::change::removed;
  publish({gone}, net::event_form::mooncake_branch);
  BOOST_REQUIRE(shows(R"("DISK":4)"));
  add_store(master.url());
  static_cast<void>(query(R"(,"prefetch":true)"));
  // A wish by key afterwards, so that the walk is over.
  BOOST_TEST(exist(R"({"key":")" + connector_key(103) + R"(","prefetch":true,"wait_ms":10000})") == R"({"exists":1,"prefetch":"started"})");

  BOOST_TEST(metric(R"(kvc_prefetch_requests_total{outcome="started"})") == 1);
}

// The tenant was named in what was found out and not in what had been told: two objects, one of which never went.
BOOST_FIXTURE_TEST_CASE(what_a_store_is_silent_about_reaches_blocks_that_engines_name, watchful_connector_fixture) {
  master.put(connector_key(102), {.memory = true, .local_disk = true});
  add_store(master.url());
  BOOST_TEST(shows(R"("CPU":8,"DISK":12)"));

  master.put(connector_key(101), {.local_disk = true});
  BOOST_TEST(shows(R"("CPU":0,"DISK":12)"));
  master.remove(connector_key(102));
  BOOST_TEST(shows(R"("longest_matched":4,)"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kvc::test
