// What stores, their publishers and movers may send that makes no sense, over sockets: counted or told, and nothing else suffers.
#include <string>

#include <boost/test/unit_test.hpp>

#include "tests/support/net/store_fixture.hpp"
#include "tests/support/net/stub_master.hpp"

namespace kvc::test {
BOOST_AUTO_TEST_SUITE(store_bad_input)

namespace {

using enum core::replica_kind;

struct open_fixture : store_fixture {
  open_fixture() { open_pool(); }
};

/// Looks at its store all the time, and has no patience.
struct watching_fixture : store_fixture {
  static net::store_settings settings() {
    net::store_settings with = quick_stores();
    with.reconcile_age = std::chrono::milliseconds(0);
    with.reconcile_rate = 100'000;
    with.store_call_timeout = std::chrono::milliseconds(200);
    with.prefetch_deadline = std::chrono::milliseconds(400);
    with.prefetch_cooldown = std::chrono::milliseconds(0);
    return with;
  }
  watching_fixture() : store_fixture(settings()) { open_pool(); }

  stub_master master;
};

struct hook_fixture : store_fixture {
  static net::store_settings settings() {
    net::store_settings with = quick_stores();
    with.store_call_timeout = std::chrono::milliseconds(200);
    with.prefetch_deadline = std::chrono::milliseconds(400);
    with.prefetch_cooldown = std::chrono::milliseconds(0);
    return with;
  }
  hook_fixture() : store_fixture(settings()) {
    open_pool();
    publish({listed("ssd", {local_disk})});
    BOOST_REQUIRE(becomes(R"({"key":"ssd"})", R"({"exists":1})"));
  }

  std::string prefetch() { return exist(R"({"key":"ssd","prefetch":true,"wait_ms":10000})"); }
};

constexpr const char* failed = R"({"exists":1,"prefetch":"failed"})";

}  // namespace

BOOST_FIXTURE_TEST_CASE(keys_of_events_that_are_no_keys_are_counted_and_their_neighbours_kept, open_fixture) {
  publish({listed(std::string(1'025, 'k'), {memory}), listed("bad \xFF", {memory}), listed("line\nbreak", {memory}),
           listed(std::string(1'024, 'k'), {memory}), listed("good", {memory})});

  BOOST_TEST(becomes(R"({"key":"good"})", R"({"exists":1})"));
  BOOST_TEST(exist(R"({"keys":[")" + std::string(1'024, 'k') + R"(",")" + std::string(1'025, 'k') + "\"]}") == R"({"exists":[1,-600]})");
  BOOST_TEST(metric(R"(kvc_store_objects{medium="memory"})") == 2);
  BOOST_TEST(metric("kvc_store_objects_refused_total") >= 2);
}

BOOST_FIXTURE_TEST_CASE(a_store_that_answers_nonsense_when_it_is_looked_at_changes_nothing, watching_fixture) {
  publish({listed("a", {memory})});
  BOOST_REQUIRE(becomes(R"({"key":"a"})", R"({"exists":1})"));
  master.put("a", {.memory = true});
  add_store(master.url());
  for (const char* const text : {"garbage", "[]", "{\"data\":", R"({"success":false})", "\xFF\xFE"}) {
    const double before = metric("kvc_store_reconcile_failures_total");
    master.babble(text);
    BOOST_TEST(eventually([&] { return metric("kvc_store_reconcile_failures_total") > before; }), text);
    BOOST_TEST(exist(R"({"keys":["a","b"],"backend_id":"store-1"})") == R"({"exists":[1,-2000]})", text);
    master.babble("");
    BOOST_TEST(becomes(R"({"keys":["a","b"],"backend_id":"store-1"})", R"({"exists":[1,0]})"));
  }
}

BOOST_FIXTURE_TEST_CASE(keys_that_an_answer_leaves_out_stay_what_they_were_and_are_counted, watching_fixture) {
  publish({listed("a", {memory})});
  BOOST_REQUIRE(becomes(R"({"key":"a"})", R"({"exists":1})"));
  master.babble(R"({"success":true,"data":{"a":{"ok":false,"error":"INTERNAL_ERROR"},"other":{"ok":true,"values":[]}}})");
  add_store(master.url());

  BOOST_TEST(eventually([&] { return metric("kvc_store_reconcile_untold_total") >= 2; }));
  BOOST_TEST(exist(R"({"keys":["a","other"],"backend_id":"store-1"})") == R"({"exists":[1,0]})");
}

BOOST_FIXTURE_TEST_CASE(a_store_that_never_answers_cannot_be_asked_and_costs_the_probe_nothing, watching_fixture) {
  publish({listed("a", {memory})});
  BOOST_REQUIRE(becomes(R"({"key":"a"})", R"({"exists":1})"));
  master.put("a", {.memory = true});
  master.hold();
  add_store(master.url());

  BOOST_TEST(becomes(R"({"keys":["a","b"],"backend_id":"store-1"})", R"({"exists":[1,-2000]})"));
  master.resume();
  BOOST_TEST(becomes(R"({"keys":["a","b"],"backend_id":"store-1"})", R"({"exists":[1,0]})"));
}

// The server decodes a list before it splits it, so that such a key comes apart into two others.
BOOST_FIXTURE_TEST_CASE(a_key_with_a_comma_is_asked_for_alone_and_only_to_be_promoted, watching_fixture) {
  master.put("a,b", {.local_disk = true});
  master.put("a", {.memory = true});
  publish({listed("a,b", {local_disk})});
  BOOST_REQUIRE(becomes(R"({"key":"a,b"})", R"({"exists":1})"));
  add_store(master.url());
  BOOST_TEST(eventually([&] { return metric("kvc_store_reconcile_untold_total") >= 2; }));
  BOOST_TEST(master.hits("a,b") == 0);

  BOOST_TEST(exist(R"({"key":"a,b","prefetch":true,"wait_ms":10000})") == R"({"exists":1,"prefetch":"started"})");
  BOOST_TEST(metric(R"(kvc_prefetch_requests_total{outcome="accepted"})") == 1);
  BOOST_TEST(exist(R"({"key":"a,b","prefetch":true})") == R"({"exists":1,"prefetch":"none"})");
  BOOST_TEST(metric(R"(kvc_store_objects{medium="local_disk"})") == 1);
  for (const auto& each : master.server().so_far()) BOOST_TEST(each.target.find("keys=a%2Cb") == std::string::npos);
}

BOOST_FIXTURE_TEST_CASE(a_key_with_a_comma_that_is_gone_is_found_to_be_when_it_is_promoted, watching_fixture) {
  publish({listed("a,b", {local_disk})});
  BOOST_REQUIRE(becomes(R"({"key":"a,b"})", R"({"exists":1})"));
  add_store(master.url());

  BOOST_TEST(exist(R"({"key":"a,b","prefetch":true,"wait_ms":10000})") == failed);
  BOOST_TEST(metric(R"(kvc_prefetch_requests_total{outcome="gone"})") == 1);
  BOOST_TEST(exist(R"({"key":"a,b"})") == R"({"exists":0})");
}

BOOST_FIXTURE_TEST_CASE(a_webhook_that_answers_nonsense_has_failed, hook_fixture) {
  std::string body;
  unsigned status = 200;
  stub_mp_server hook([&](const stub_mp_server::asked&) { return stub_mp_server::told{.status = status, .body = body}; });
  add_store("http://127.0.0.1:" + std::to_string(hook.port()), "store-1", "webhook");
  for (const char* const text : {"garbage", "{}", "[]", R"({"results":[]})", R"({"results":["accepted","accepted"]})", R"({"results":[7]})",
                                 R"({"results":["perhaps"]})", R"({"results":{"other":"accepted"}})"}) {
    body = text;
    BOOST_TEST(prefetch() == failed, text);
  }
  body = R"({"results":["accepted"]})";
  status = 500;
  BOOST_TEST(prefetch() == failed);
  status = 200;
  BOOST_TEST(prefetch() == R"({"exists":1,"prefetch":"started"})");
}

BOOST_FIXTURE_TEST_CASE(a_webhook_that_never_answers_or_goes_away_has_failed, hook_fixture) {
  {
    stub_mp_server hook;
    hook.hold();
    add_store("http://127.0.0.1:" + std::to_string(hook.port()), "store-1", "webhook");
    BOOST_TEST(prefetch() == failed);
  }
  BOOST_TEST(prefetch() == failed);
  BOOST_TEST(metric("kvc_prefetch_in_flight") == 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kvc::test
