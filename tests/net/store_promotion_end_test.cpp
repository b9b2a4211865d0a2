// What the end of a promotion means for the next one, and what orders of many keys come to.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/test/unit_test.hpp>

#include "tests/support/net/promotion_fixture.hpp"

namespace kvc::test {
BOOST_AUTO_TEST_SUITE(store_promotion_ends)

namespace {

using enum core::replica_kind;

/// One call at a time.
struct single_fixture : promotion_fixture {
  static net::store_settings settings() {
    net::store_settings with = quick_stores();
    with.prefetch_concurrency = 1;
    return with;
  }
  single_fixture() : promotion_fixture(settings()) {}
};

/// Promotions last longer than a slow machine takes for a look at them.
struct lasting_fixture : promotion_fixture {
  static net::store_settings settings() {
    net::store_settings with = quick_stores();
    with.prefetch_deadline = std::chrono::milliseconds(40'000);
    return with;
  }
  lasting_fixture() : promotion_fixture(settings()) {}
};

/// Few objects at a time, of all stores.
struct crowded_fixture : promotion_fixture {
  static net::store_settings settings() {
    net::store_settings with = quick_stores();
    with.prefetch_in_flight = 8;
    return with;
  }
  crowded_fixture() : promotion_fixture(settings()) {}
};

/// Nobody is let wait for long.
struct impatient_fixture : promotion_fixture {
  static net::store_settings settings() {
    net::store_settings with = lasting_fixture::settings();
    with.exist_wait = std::chrono::milliseconds(50);
    return with;
  }
  impatient_fixture() : promotion_fixture(settings()) {}
};

/// Whether stores answer is found out.
struct watchful_fixture : promotion_fixture {
  static net::store_settings settings() {
    net::store_settings with = quick_stores();
    with.reconcile_rate = 1'000;
    return with;
  }
  watchful_fixture() : promotion_fixture(settings()) {}
};

/// A list of keys on disk, for a probe.
template <class Fixture>
std::string put_on_disk(Fixture& at, int count) {
  std::vector<core::event> all;
  std::string keys;
  for (int i = 0; i < count; ++i) {
    const std::string key = "k" + std::to_string(i);
    at.master.put(key, {.local_disk = true});
    all.push_back(store_fixture::listed(key, {local_disk}));
    keys += (i == 0 ? "\"" : ",\"") + key + "\"";
  }
  at.publish(std::move(all));
  BOOST_REQUIRE(at.becomes(R"({"key":"k)" + std::to_string(count - 1) + "\"}", R"({"exists":1})"));
  return "{\"keys\":[" + keys + R"(],"prefetch":true})";
}

/// Whether twenty keys are asked for together. Wishes that were read on different lanes may change places.
bool asks_for_twenty(const stub_mp_server::asked& what) {
  return what.target.starts_with("/batch_query_keys") && std::ranges::count(what.target, ',') == 19;
}

}  // namespace

// How it ended was remembered across its store's restart, when a copy in memory matters most.
BOOST_FIXTURE_TEST_CASE(what_was_promoted_before_its_store_began_anew_is_promoted_again, promotion_fixture) {
  add_store(master.url());
  BOOST_REQUIRE(prefetch(R"(,"wait_ms":10000)") == started);
  publish({listed("ssd", {local_disk})});
  master.put("ssd", {.local_disk = true});
  BOOST_REQUIRE(eventually([&] { return prefetch() == suppressed; }));
  BOOST_REQUIRE(call("DELETE", "/stores/store-1").status == 200);
  add_store(master.url());

  BOOST_TEST(prefetch(R"(,"wait_ms":10000)") == started);
  BOOST_TEST(ended("accepted") == 2);
}

BOOST_FIXTURE_TEST_CASE(what_a_cleared_store_has_again_is_promoted_again, promotion_fixture) {
  add_store(master.url());
  BOOST_REQUIRE(prefetch(R"(,"wait_ms":10000)") == started);
  publish({core::event(core::cleared_event{})}, net::event_form::mooncake_branch);
  BOOST_REQUIRE(becomes(R"({"key":"ssd"})", R"({"exists":0})"));
  master.put("ssd", {.local_disk = true});
  publish({listed("ssd", {local_disk})});
  BOOST_REQUIRE(becomes(R"({"key":"ssd"})", R"({"exists":1})"));

  BOOST_TEST(prefetch(R"(,"wait_ms":10000)") == started);
}

BOOST_FIXTURE_TEST_CASE(a_stop_does_not_wait_for_a_promotion, lasting_fixture) {
  // It went on until its deadline: of two coroutines that were asked to leave, only the one that looks for it did.
  add_store(master.url());
  master.hold();
  BOOST_REQUIRE(prefetch() == started);
  BOOST_TEST(lanes.stop(std::chrono::seconds(10)));
  master.resume();
}

BOOST_FIXTURE_TEST_CASE(who_wants_to_wait_for_longer_than_anybody_may_hears_what_there_is_by_then, impatient_fixture) {
  // The server's own deadline would have said 503, and nothing of the keys.
  add_store(master.url());
  master.hold();
  BOOST_TEST(prefetch(R"(,"wait_ms":25000)") == started);
  BOOST_TEST(ended("accepted") == 0);
  master.resume();
}

BOOST_FIXTURE_TEST_CASE(what_we_gave_up_is_no_failure_of_the_object, promotion_fixture) {
  add_store(master.url());
  master.hold();
  BOOST_REQUIRE(prefetch() == started);
  BOOST_REQUIRE(call("DELETE", "/stores/store-1").status == 200);
  BOOST_REQUIRE(has_ended("failed"));
  master.resume();
  add_store(master.url());

  BOOST_TEST(prefetch(R"(,"wait_ms":10000)") == started);
}

BOOST_FIXTURE_TEST_CASE(what_came_by_events_is_there_although_its_promotion_was_given_up, promotion_fixture) {
  add_store(master.url());
  master.hold();
  BOOST_REQUIRE(prefetch() == started);
  publish({listed("ssd", {memory, local_disk})});
  BOOST_REQUIRE(eventually([&] { return prefetch() == none; }));
  BOOST_REQUIRE(call("DELETE", "/stores/store-1").status == 200);

  BOOST_TEST(has_ended("already"));
  BOOST_TEST(ended("failed") == 0);
  master.resume();
}

// One wish for one key held a runner until its object had come.
BOOST_FIXTURE_TEST_CASE(wishes_for_single_keys_become_one_order, single_fixture) {
  std::vector<core::event> all;
  for (int i = 0; i < 20; ++i) {
    master.put("k" + std::to_string(i), {.local_disk = true});
    all.push_back(listed("k" + std::to_string(i), {local_disk}));
  }
  publish(std::move(all));
  BOOST_REQUIRE(becomes(R"({"key":"k19"})", R"({"exists":1})"));
  add_store(master.url());
  master.hold();
  BOOST_REQUIRE(prefetch() == started);
  BOOST_REQUIRE(!master.server().wait_for(1).empty());  // the runner is busy
  for (int i = 0; i < 20; ++i) BOOST_TEST(exist(R"({"key":"k)" + std::to_string(i) + R"(","prefetch":true})") == started);
  master.resume();

  BOOST_TEST(eventually([&] { return ended("accepted") == 21; }));
  const auto asked = master.server().so_far();
  BOOST_TEST(std::ranges::count_if(asked, asks_for_twenty) >= 1);
}

// One look-up that breaks off used to end those of all other keys of the order.
BOOST_FIXTURE_TEST_CASE(a_key_that_breaks_connections_costs_the_others_nothing, lasting_fixture) {
  std::string keys = R"("bad")";
  std::vector<core::event> all{listed("bad", {local_disk})};
  master.put("bad", {.local_disk = true, .breaks_touches = true});
  for (int i = 0; i < 20; ++i) {
    master.put("k" + std::to_string(i), {.local_disk = true});
    all.push_back(listed("k" + std::to_string(i), {local_disk}));
    keys += R"(,"k)" + std::to_string(i) + "\"";
  }
  publish(std::move(all));
  BOOST_REQUIRE(becomes(R"({"key":"k19"})", R"({"exists":1})"));
  add_store(master.url());
  BOOST_REQUIRE(exist("{\"keys\":[" + keys + R"(],"prefetch":true})").find("failed") == std::string::npos);

  BOOST_TEST(eventually([&] { return ended("accepted") == 20; }));
  BOOST_TEST(metric("kvc_prefetch_in_flight") == 1);
  // What could not be asked for is asked for again.
  master.put("bad", {.local_disk = true});
  BOOST_TEST(eventually([&] { return ended("accepted") == 21; }));
}

// A look that was never answered because of one key was the end of all of the order, again and again until its deadline.
BOOST_FIXTURE_TEST_CASE(a_key_that_breaks_looks_costs_the_others_nothing, lasting_fixture) {
  const std::string probe = put_on_disk(*this, 20);
  master.put("k7", {.local_disk = true, .breaks_looks = true});
  master.put("k13", {.local_disk = true, .breaks_looks = true});
  add_store(master.url());
  BOOST_REQUIRE(exist(probe).find("failed") == std::string::npos);

  BOOST_TEST(eventually([&] { return ended("accepted") == 18; }));
  BOOST_TEST(metric("kvc_prefetch_in_flight") == 2);
  // What could not be looked for is looked for again.
  master.put("k7", {.local_disk = true});
  master.put("k13", {.local_disk = true});
  BOOST_TEST(eventually([&] { return ended("accepted") == 20; }));
}

// Who is short of memory is slow to answer: it used to be a failure of the object then, and the store was asked on and on.
BOOST_FIXTURE_TEST_CASE(a_store_that_has_no_room_and_falls_silent_has_no_room, lasting_fixture) {
  master.set(stub_master::on_hit::refuse_and_break);
  add_store(master.url());
  BOOST_REQUIRE(prefetch() == started);

  BOOST_TEST(eventually([&] { return ended("rejected_pressure") == 1 || ended("failed") == 1; }));
  BOOST_TEST(ended("failed") == 0);
}

// Orders side by side used to take each other's growth of the master's count away.
BOOST_FIXTURE_TEST_CASE(every_order_sees_that_the_master_has_no_room, lasting_fixture) {
  master.put("other", {.local_disk = true});
  publish({listed("other", {local_disk})});
  BOOST_REQUIRE(becomes(R"({"key":"other"})", R"({"exists":1})"));
  master.set(stub_master::on_hit::refuse);
  master.hold();
  add_store(master.url());
  BOOST_REQUIRE(prefetch() == started);
  BOOST_REQUIRE(exist(R"({"key":"other","prefetch":true,"preferred":"elsewhere"})") == started);  // an order of its own
  BOOST_REQUIRE(master.server().wait_for(2).size() >= 2U);
  master.resume();

  BOOST_TEST(eventually([&] { return ended("rejected_pressure") == 2; }));
}

// One store whose promotions never end used to take all that may be on its way.
BOOST_FIXTURE_TEST_CASE(one_store_leaves_room_for_another, crowded_fixture) {
  const std::string probe = put_on_disk(*this, 10);
  stub_master other;
  add_store(other.url(), "store-2");
  add_store(master.url());
  master.hold();
  static_cast<void>(exist(probe));

  BOOST_TEST(ended("started") == 4);
  BOOST_TEST(metric(R"(kvc_prefetch_suppressed_total{cause="full"})") == 6);
  master.resume();
}

BOOST_FIXTURE_TEST_CASE(of_a_store_that_does_not_answer_little_is_on_its_way, watchful_fixture) {
  const std::string probe = put_on_disk(*this, 200);
  master.hold();
  add_store(master.url());
  static_cast<void>(exist(probe));

  BOOST_TEST(ended("started") == 128);
  BOOST_TEST(metric(R"(kvc_prefetch_suppressed_total{cause="full"})") == 72);
  master.resume();
}

BOOST_FIXTURE_TEST_CASE(a_webhook_may_be_the_root_of_a_host, promotion_fixture) {
  stub_mp_server hook(
      [](const stub_mp_server::asked&) { return stub_mp_server::told{.status = 200, .body = R"({"results":["accepted"]})"}; });
  add_store("http://127.0.0.1:" + std::to_string(hook.port()), "store-1", "webhook");
  BOOST_TEST(prefetch(R"(,"wait_ms":10000)") == started);
  add_store("http://127.0.0.1:" + std::to_string(hook.port()) + "/move/", "store-1", "webhook");
  BOOST_TEST(prefetch(R"(,"wait_ms":10000)") == started);

  const auto asked = hook.wait_for(2);
  BOOST_TEST(asked[0].target == "/");
  BOOST_TEST(asked[1].target == "/move/");
}

// Many wishes are one call: one of them that the webhook would have nothing of was the end of all.
BOOST_FIXTURE_TEST_CASE(a_key_that_a_webhook_refuses_calls_for_costs_itself_only, promotion_fixture) {
  const std::string probe = put_on_disk(*this, 20);
  std::atomic<bool> refuses_all = false;
  stub_mp_server hook([&](const stub_mp_server::asked& request) -> stub_mp_server::told {
    if (refuses_all || request.body.find(R"("k7")") != std::string::npos) return {.status = 400, .body = "what is that key"};
    const std::size_t keys = boost::json::parse(request.body).at("keys").as_array().size();
    std::string words;
    for (std::size_t i = 0; i < keys; ++i) words += i == 0 ? R"("accepted")" : R"(,"accepted")";
    return {.status = 200, .body = R"({"results":[)" + words + "]}"};
  });
  add_store("http://127.0.0.1:" + std::to_string(hook.port()), "store-1", "webhook");
  BOOST_REQUIRE(exist(probe).find("failed") == std::string::npos);

  BOOST_TEST(eventually([&] { return ended("accepted") == 19 && ended("failed") == 1; }));
  BOOST_TEST(metric("kvc_prefetch_in_flight") == 0);

  // Where no part of them is taken it is not the keys, and nobody is asked for each.
  const std::size_t before = hook.so_far().size();
  refuses_all = true;
  add_store("http://127.0.0.1:" + std::to_string(hook.port()) + "/again", "store-1", "webhook");
  static_cast<void>(exist(probe));
  BOOST_TEST(eventually([&] { return ended("failed") == 21; }));
  BOOST_TEST(hook.so_far().size() == before + 15);
}

// It used to be taken for a server that does not lead, and asked who does until the deadline.
BOOST_FIXTURE_TEST_CASE(a_webhook_that_is_overloaded_is_left_alone, promotion_fixture) {
  stub_mp_server hook([](const stub_mp_server::asked&) { return stub_mp_server::told{.status = 503, .body = "later"}; });
  add_store("http://127.0.0.1:" + std::to_string(hook.port()) + "/move", "store-1", "webhook");
  BOOST_TEST(prefetch(R"(,"wait_ms":10000)") == failed);

  BOOST_TEST(ended("rejected_pressure") == 1);
  BOOST_TEST(hook.so_far().size() == 1U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kvc::test
