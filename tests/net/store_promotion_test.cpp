#include <optional>
#include <string>

#include <boost/test/unit_test.hpp>

#include "tests/support/net/promotion_fixture.hpp"

namespace kvc::test {
BOOST_AUTO_TEST_SUITE(store_promotions)

namespace {

using enum core::replica_kind;
using on_hit = stub_master::on_hit;

struct short_fixture : promotion_fixture {
  static net::store_settings settings() {
    net::store_settings with = quick_stores();
    with.prefetch_deadline = std::chrono::milliseconds(300);
    with.prefetch_cooldown = std::chrono::milliseconds(0);
    return with;
  }
  short_fixture() : promotion_fixture(settings()) {}
};

/// One object at a time, of all stores.
struct narrow_fixture : promotion_fixture {
  static net::store_settings settings() {
    net::store_settings with = quick_stores();
    with.prefetch_in_flight = 1;
    return with;
  }
  narrow_fixture() : promotion_fixture(settings()) {}
};

/// A promotion that does not come about ends some time after its last look.
struct late_fixture : promotion_fixture {
  static net::store_settings settings() {
    net::store_settings with = quick_stores();
    with.prefetch_deadline = std::chrono::milliseconds(1'500);
    return with;
  }
  late_fixture() : promotion_fixture(settings()) {}
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(an_object_on_disk_only_is_in_memory_because_somebody_asked, promotion_fixture) {
  add_store(master.url());
  BOOST_TEST(exist(R"({"keys":["ssd","old","dram","gone"],"prefetch":true})") ==
             R"({"exists":[1,1,1,0],"prefetch":["started","none","none","none"]})");

  BOOST_TEST(has_ended("accepted"));
  BOOST_TEST(prefetch() == none);
  BOOST_TEST(master.hits("ssd") == 2);
  BOOST_TEST(metric(R"(kvc_store_reconcile_total{difference="promoted"})") == 1);
  BOOST_TEST(metric("kvc_prefetch_bytes_total") == 4'096);
  BOOST_TEST(metric("kvc_prefetch_in_flight") == 0);
}

BOOST_FIXTURE_TEST_CASE(a_probe_without_prefetch_moves_nothing, promotion_fixture) {
  add_store(master.url());
  BOOST_TEST(exist(R"({"key":"ssd"})") == R"({"exists":1})");

  BOOST_TEST(master.looks() == 0);
  BOOST_TEST(master.hits("ssd") == 0);
}

BOOST_FIXTURE_TEST_CASE(a_probe_may_wait_for_the_copy, promotion_fixture) {
  add_store(master.url());

  BOOST_TEST(prefetch(R"(,"wait_ms":10000)") == started);
  BOOST_TEST(prefetch() == none);
}

BOOST_FIXTURE_TEST_CASE(wishes_for_one_object_are_one_promotion, promotion_fixture) {
  add_store(master.url());
  master.hold();
  BOOST_TEST(prefetch() == started);
  for (int i = 0; i < 5; ++i) BOOST_TEST(prefetch() == joined);
  BOOST_TEST(metric("kvc_prefetch_in_flight") == 1);
  master.resume();

  BOOST_TEST(has_ended("accepted"));
  BOOST_TEST(master.hits("ssd") == 2);
}

BOOST_FIXTURE_TEST_CASE(what_has_come_is_told_though_another_of_the_same_probe_has_not, promotion_fixture) {
  master.put("slow", {.local_disk = true, .stays = true});
  publish({listed("slow", {local_disk})});
  BOOST_REQUIRE(becomes(R"({"key":"slow"})", R"({"exists":1})"));
  add_store(master.url());

  BOOST_TEST(exist(R"({"keys":["ssd","slow"],"prefetch":true})") == R"({"exists":[1,1],"prefetch":["started","started"]})");

  BOOST_TEST(has_ended("accepted"));
  BOOST_TEST(exist(R"({"keys":["ssd","slow"],"prefetch":true})") == R"({"exists":[1,1],"prefetch":["none","joined"]})");
  BOOST_TEST(metric("kvc_prefetch_in_flight") == 1);
}

BOOST_FIXTURE_TEST_CASE(no_more_are_on_their_way_than_may_be, narrow_fixture) {
  master.put("second", {.local_disk = true});
  publish({listed("second", {local_disk})});
  BOOST_REQUIRE(becomes(R"({"key":"second"})", R"({"exists":1})"));
  add_store(master.url());
  master.hold();
  BOOST_TEST(exist(R"({"keys":["ssd","second"],"prefetch":true})") == R"({"exists":[1,1],"prefetch":["started","suppressed"]})");
  BOOST_TEST(metric(R"(kvc_prefetch_suppressed_total{cause="full"})") == 1);
  master.resume();

  BOOST_TEST(has_ended("accepted"));
  BOOST_TEST(exist(R"({"key":"second","prefetch":true,"wait_ms":10000})") == started);
  BOOST_TEST(metric("kvc_prefetch_latency_seconds_count") == 2);
}

BOOST_FIXTURE_TEST_CASE(what_was_promoted_and_is_gone_from_memory_again_is_left_alone, promotion_fixture) {
  add_store(master.url());
  BOOST_REQUIRE(prefetch(R"(,"wait_ms":10000)") == started);
  publish({listed("ssd", {local_disk})});

  BOOST_TEST(eventually([&] { return prefetch() == suppressed; }));
  BOOST_TEST(metric(R"(kvc_prefetch_suppressed_total{cause="recent"})") >= 1);
}

BOOST_FIXTURE_TEST_CASE(without_a_store_nothing_can_be_promoted_and_the_object_is_there_all_the_same, promotion_fixture) {
  BOOST_TEST(prefetch() == failed);
  BOOST_TEST(ended("no_store") == 1);
}

BOOST_FIXTURE_TEST_CASE(a_put_that_lands_first_is_as_good, promotion_fixture) {
  add_store(master.url());
  master.put("ssd", {.memory = true, .local_disk = true});  // and no event about it
  BOOST_TEST(prefetch(R"(,"wait_ms":10000)") == started);

  BOOST_TEST(ended("already") == 1);
  BOOST_TEST(master.hits("ssd") == 0);
  BOOST_TEST(prefetch() == none);
}

BOOST_FIXTURE_TEST_CASE(a_key_that_vanishes_meanwhile_is_gone, promotion_fixture) {
  add_store(master.url());
  master.set(on_hit::vanish);
  BOOST_TEST(prefetch(R"(,"wait_ms":10000)") == failed);

  BOOST_TEST(ended("gone") == 1);
  BOOST_TEST(prefetch() == R"({"exists":0,"prefetch":"none"})");
  BOOST_TEST(metric(R"(kvc_store_reconcile_total{difference="vanished"})") == 1);
}

BOOST_FIXTURE_TEST_CASE(what_a_promotion_has_seen_long_ago_does_not_bring_back_what_is_removed, late_fixture) {
  add_store(master.url());
  master.set(on_hit::nothing);
  BOOST_TEST(prefetch() == started);
  BOOST_REQUIRE(eventually([&] { return master.hits("ssd") == 2; }));
  master.babble("garbage");  // no look after this one is answered
  master.remove("ssd");
  publish({listed("ssd", {})});
  BOOST_REQUIRE(becomes(R"({"key":"ssd"})", R"({"exists":0})"));

  BOOST_TEST(has_ended("failed"));
  BOOST_TEST(exist(R"({"key":"ssd"})") == R"({"exists":0})");
}

BOOST_FIXTURE_TEST_CASE(another_master_leads, promotion_fixture) {
  stub_master next;
  next.put("ssd", {.local_disk = true});
  add_store(master.url());
  master.depose(next.url());
  BOOST_TEST(prefetch(R"(,"wait_ms":10000)") == started);

  BOOST_TEST(ended("accepted") == 1);
  BOOST_TEST(next.hits("ssd") == 2);
  BOOST_TEST(master.hits("ssd") == 0);
}

// Each says that the other one leads: requests went to and fro as fast as they could.
BOOST_FIXTURE_TEST_CASE(masters_that_send_us_to_each_other_are_asked_now_and_then, short_fixture) {
  stub_master other;
  other.put("ssd", {.local_disk = true});
  other.depose(master.url());
  master.depose(other.url());
  add_store(master.url());
  BOOST_TEST(prefetch(R"(,"wait_ms":10000)") == failed);

  // Without a pause there are some thousands.
  BOOST_TEST(master.server().so_far().size() + other.server().so_far().size() <= 100U);
  other.depose("");
  BOOST_TEST(prefetch(R"(,"wait_ms":10000)") == started);
  BOOST_TEST(other.hits("ssd") == 2);
}

BOOST_FIXTURE_TEST_CASE(a_promotion_that_succeeds_after_the_deadline_is_found_by_the_next_one, short_fixture) {
  add_store(master.url());
  master.set(on_hit::nothing);
  BOOST_TEST(prefetch(R"(,"wait_ms":10000)") == failed);
  BOOST_TEST(ended("failed") == 1);
  master.put("ssd", {.memory = true, .local_disk = true});

  BOOST_TEST(prefetch(R"(,"wait_ms":10000)") == started);
  BOOST_TEST(ended("already") == 1);
}

BOOST_FIXTURE_TEST_CASE(a_store_without_room_is_left_alone_for_a_while, promotion_fixture) {
  add_store(master.url());
  master.set(on_hit::refuse);
  BOOST_TEST(prefetch(R"(,"wait_ms":10000)") == failed);
  BOOST_TEST(ended("rejected_pressure") == 1);
  master.put("other", {.local_disk = true});
  publish({listed("other", {local_disk})});
  BOOST_REQUIRE(becomes(R"({"key":"other"})", R"({"exists":1})"));

  BOOST_TEST(prefetch() == suppressed);
  BOOST_TEST(metric(R"(kvc_prefetch_suppressed_total{cause="cooldown"})") >= 1);
  // The store as a whole rests, for longer each time; see the gate's own tests. It may have rested already on a slow machine.
  const bool rests = exist(R"({"key":"other","prefetch":true})") == suppressed;
  BOOST_TEST((metric(R"(kvc_prefetch_suppressed_total{cause="pressure"})") == 1) == rests);
}

BOOST_FIXTURE_TEST_CASE(a_store_that_babbles_costs_nobody_an_answer, short_fixture) {
  add_store(master.url());
  for (const char* const text :
       {"garbage", "{}", "[]", R"({"data":{"ssd":7}})", R"({"data":{"ssd":{"ok":true,"values":7}}})", "{\"data\":"}) {
    master.babble(text);
    BOOST_TEST(prefetch(R"(,"wait_ms":10000)") == failed);
  }
  master.babble("");
  BOOST_TEST(prefetch(R"(,"wait_ms":10000)") == started);
}

BOOST_FIXTURE_TEST_CASE(a_store_that_never_answers_costs_the_deadline, short_fixture) {
  add_store(master.url());
  master.hold();
  BOOST_TEST(prefetch(R"(,"wait_ms":10000)") == failed);
  BOOST_TEST(exist(R"({"key":"ssd"})") == R"({"exists":1})");
  master.resume();
}

BOOST_FIXTURE_TEST_CASE(an_unregistered_store_ends_what_it_was_doing, promotion_fixture) {
  add_store(master.url());
  master.hold();
  BOOST_TEST(prefetch() == started);
  BOOST_TEST(call("DELETE", "/stores/store-1").status == 200);

  BOOST_TEST(has_ended("failed"));
  BOOST_TEST(call("DELETE", "/stores/store-1").status == 404);
  BOOST_TEST(prefetch() == failed);
  master.resume();
}

BOOST_FIXTURE_TEST_CASE(stores_are_listed_as_they_were_registered, promotion_fixture) {
  add_store(master.url());
  const std::string listed = call("GET", "/stores").body;
  BOOST_TEST(listed.find(R"("count":1,"stores":[{"backend_id":"store-1","type":"mooncake_master","url":")" + master.url() + "\"") !=
             std::string::npos);
  BOOST_TEST(listed.find(R"("objects":3)") != std::string::npos);

  BOOST_TEST(call("POST", "/stores", R"({"backend_id":"b","type":"tape","url":"http://h:1"})").status == 400);
  BOOST_TEST(call("POST", "/stores", R"({"backend_id":"b","type":"webhook","url":"ftp://h"})").status == 400);
  BOOST_TEST(call("POST", "/stores", R"({"type":"webhook","url":"http://h:1"})").status == 400);
  BOOST_TEST(call("PUT", "/stores").status == 405);
  BOOST_TEST(call("GET", "/stores/store-1").status == 405);
}

BOOST_FIXTURE_TEST_CASE(a_webhook_says_what_becomes_of_each_key, promotion_fixture) {
  stub_mp_server hook(
      [](const stub_mp_server::asked&) { return stub_mp_server::told{.status = 200, .body = R"({"results":["accepted"]})"}; });
  add_store("http://127.0.0.1:" + std::to_string(hook.port()) + "/move", "store-1", "webhook");
  BOOST_TEST(prefetch(R"(,"wait_ms":10000,"preferred":"10.0.0.7")") == started);

  const auto asked = hook.wait_for(1).front();
  BOOST_TEST(asked.method == "POST");
  BOOST_TEST(asked.target == "/move");
  BOOST_TEST(asked.body == R"({"operation":"promote","keys":["ssd"],"tenant_id":"default","preferred":"10.0.0.7"})");
  BOOST_TEST(ended("accepted") == 1);
}

BOOST_FIXTURE_TEST_CASE(an_lmcache_server_knows_no_keys, promotion_fixture) {
  stub_mp_server mp;
  add_store("http://127.0.0.1:" + std::to_string(mp.port()), "store-1", "lmcache");
  BOOST_TEST(prefetch(R"(,"wait_ms":10000)") == failed);

  BOOST_TEST(ended("unsupported") == 1);
  BOOST_TEST(mp.so_far().empty());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kvc::test
