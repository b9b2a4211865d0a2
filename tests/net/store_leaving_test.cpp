// What becomes of what is known of a store's objects when it is registered no more, or another one in its place.
#include <chrono>
#include <future>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "tests/support/net/store_fixture.hpp"
#include "tests/support/net/stub_master.hpp"

namespace kvc::test {
namespace {

/// Nobody publishes, and nothing gets old: only what somebody asks for is read.
struct leaving_fixture : store_fixture {
  static net::store_settings settings() {
    net::store_settings with = quick_stores();
    with.reconcile_age = std::chrono::hours(1);
    with.reconcile_rate = 100'000;
    return with;
  }
  leaving_fixture() : store_fixture(settings()) {}

  stub_master master;
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(store_leaving, leaving_fixture)

BOOST_AUTO_TEST_CASE(objects_of_a_store_that_was_unregistered_are_gone) {
  std::vector<std::string> keys;
  std::string list;
  for (int i = 0; i < 600; ++i) {  // more than one slice
    keys.push_back("key " + std::to_string(i));
    master.put(keys.back(), {.memory = true});
    list += (list.empty() ? "\"" : ",\"") + keys.back() + "\"";
  }
  add_store(master.url(), "solo");
  BOOST_REQUIRE(eventually([&] {
    static_cast<void>(exist(R"({"backend_id":"solo","keys":[)" + list + "]}"));
    return metric(R"(kvc_store_objects{medium="memory"})") == 600;
  }));
  BOOST_REQUIRE(call("DELETE", "/stores/solo").status == 200);

  BOOST_TEST(becomes(R"({"key":"key 0"})", R"({"exists":0})"));
  BOOST_TEST(eventually([&] { return metric(R"(kvc_store_objects{medium="memory"})") == 0; }));
}

BOOST_AUTO_TEST_CASE(a_backend_whose_store_was_unregistered_is_as_unknown_as_any) {
  master.put("a", {.memory = true});
  add_store(master.url(), "solo");
  BOOST_REQUIRE(becomes(R"({"keys":["a","b"],"backend_id":"solo"})", R"({"exists":[1,0]})"));
  BOOST_REQUIRE(call("DELETE", "/stores/solo").status == 200);

  // Its objects go a piece at a time. Nobody can say of the others that they are missing.
  BOOST_TEST(becomes(R"({"keys":["a","b",""],"backend_id":"solo"})", R"({"exists":[-2000,-2000,-600]})"));
  BOOST_TEST(exist(R"({"keys":["a","b"]})") == R"({"exists":[0,0]})");
  add_store(master.url(), "solo");
  BOOST_TEST(becomes(R"({"keys":["a","b"],"backend_id":"solo"})", R"({"exists":[1,0]})"));
}

BOOST_FIXTURE_TEST_CASE(a_backend_is_known_for_as_long_as_its_stream_is_registered, store_fixture) {
  const std::string probe = R"({"key":"a","backend_id":"store-1"})";
  BOOST_TEST(exist(probe) == R"({"exists":-2000})");
  open_pool();
  publish({listed("a", {core::replica_kind::memory})});
  BOOST_REQUIRE(becomes(probe, R"({"exists":1})"));
  publish({listed("a", {})});
  BOOST_TEST(becomes(probe, R"({"exists":0})"));  // its stream would have told

  publish({listed("a", {core::replica_kind::memory})});
  BOOST_REQUIRE(becomes(probe, R"({"exists":1})"));
  BOOST_REQUIRE(call("POST", "/unregister", R"({"instance_id":"pool"})").status == 200);
  BOOST_TEST(becomes(probe, R"({"exists":-2000})"));
}

BOOST_AUTO_TEST_CASE(a_store_that_never_answered_leaves_no_doubt_behind) {
  // Nobody has to wait until whoever asked it last has noticed.
  add_store("http://127.0.0.1:1", "dead");
  BOOST_REQUIRE(becomes(R"({"key":"a"})", R"({"exists":-2000})"));
  BOOST_REQUIRE(call("DELETE", "/stores/dead").status == 200);
  BOOST_TEST(exist(R"({"key":"a"})") == R"({"exists":0})");
}

BOOST_AUTO_TEST_CASE(a_store_that_does_not_answer_leaves_no_doubt_to_a_webhook_in_its_place) {
  add_store("http://127.0.0.1:1", "dead");
  BOOST_REQUIRE(becomes(R"({"key":"a","backend_id":"dead"})", R"({"exists":-2000})"));
  add_store("http://127.0.0.1:1/hook", "dead", "webhook");
  BOOST_TEST(exist(R"({"key":"a"})") == R"({"exists":0})");
  BOOST_TEST(exist(R"({"key":"a","backend_id":"dead"})") == R"({"exists":-2000})");  // nobody tells what it has
}

BOOST_AUTO_TEST_CASE(stores_that_came_and_went_leave_room_for_others) {
  for (int i = 0; i < 300; ++i) {
    const std::string name = "pod-" + std::to_string(i);
    add_store(master.url(), name);
    BOOST_REQUIRE(call("DELETE", "/stores/" + name).status == 200);
  }
  master.put("a", {.memory = true});
  add_store(master.url(), "last");
  BOOST_TEST(becomes(R"({"key":"a","backend_id":"last"})", R"({"exists":1})"));
}

BOOST_AUTO_TEST_CASE(what_another_store_in_its_place_does_not_have_is_gone_soon) {
  master.put("a", {.memory = true});
  add_store(master.url());
  BOOST_REQUIRE(becomes(R"({"key":"a","backend_id":"store-1"})", R"({"exists":1})"));
  stub_master next;
  add_store(next.url());

  // No probe in between: it would have the key read.
  BOOST_TEST(eventually([&] { return metric(R"(kvc_store_objects{medium="memory"})") == 0; }));
}

// What is never asked for was doubted in place of forgotten, and existed for ever.
BOOST_FIXTURE_TEST_CASE(a_store_that_is_never_asked_keeps_no_objects_of_a_stream_that_has_gone, store_fixture) {
  stub_master never_asked;
  open_pool();
  add_store(never_asked.url());
  publish({listed("a", {core::replica_kind::memory})});
  BOOST_REQUIRE(becomes(R"({"key":"a"})", R"({"exists":1})"));
  BOOST_REQUIRE(call("POST", "/unregister", R"({"instance_id":"pool"})").status == 200);

  BOOST_TEST(becomes(R"({"key":"a"})", R"({"exists":0})"));
}

// The new stream was heard while what the old one had told still left, and its objects left with those.
BOOST_FIXTURE_TEST_CASE(a_store_s_stream_that_is_registered_anew_keeps_what_it_tells, store_fixture) {
  constexpr int batches = 100;
  constexpr int objects = 600;  // of a batch
  open_pool();
  for (int i = 0; i < batches; ++i) {
    std::vector<core::event> told;
    for (int k = 0; k < objects; ++k) told.push_back(listed("key " + std::to_string(i * objects + k), {core::replica_kind::memory}));
    publish(std::move(told));
  }
  const auto has_all = [&] { return metric(R"(kvc_store_objects{medium="memory"})") == batches * objects; };
  BOOST_REQUIRE(eventually(has_all));

  const std::string body = R"({"endpoint":")" + pool->endpoint() + R"(","replay_endpoint":")" + pool->replay_endpoint() +
                           R"(","type":"Mooncake","modelname":"m","instance_id":"pool","block_size":4,"backend_id":"store-1","shards":1})";
  auto changing = std::async(std::launch::async, [&] { return call("POST", "/register", body); });
  BOOST_REQUIRE(eventually([&] { return changing.wait_for(std::chrono::seconds(0)) == std::future_status::ready; }));
  BOOST_REQUIRE(changing.get().status == 200);
  const std::string applied = R"(kvc_stream_batches_total{tenant="default",instance="pool",rank="0",class="pool"})";
  BOOST_REQUIRE(eventually([&] { return metric(applied) == batches; }));
  BOOST_TEST(eventually(has_all));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kvc::test
