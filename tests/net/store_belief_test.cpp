// What is said of objects while their store is away, was never there, or is somebody else.
#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "tests/support/net/truth_fixture.hpp"

namespace kvc::test {
namespace {

/// Answers may be held back for as long as it takes, and nothing gets old.
struct slow_answer_fixture : store_fixture {
  static net::store_settings settings() {
    net::store_settings with = watchful_stores();
    with.store_call_timeout = std::chrono::milliseconds(20'000);
    with.reconcile_age = std::chrono::hours(1);
    return with;
  }
  slow_answer_fixture() : store_fixture(settings()) { open_pool(); }

  stub_master master;
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(store_beliefs, truth_fixture)

using enum core::replica_kind;

BOOST_AUTO_TEST_CASE(a_store_that_cannot_be_asked_is_not_said_to_have_nothing) {
  {
    stub_master gone;
    gone.put("a", {.memory = true});
    add_store(gone.url());
    BOOST_REQUIRE(becomes(R"({"keys":["a","b"],"backend_id":"store-1"})", R"({"exists":[1,0]})"));
  }
  BOOST_TEST(becomes(R"({"keys":["a","b"],"backend_id":"store-1"})", R"({"exists":[1,-2000]})"));
  BOOST_TEST(call("GET", "/stores").body.find(R"("reachable":false)") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(who_knows_no_such_route_is_not_believed_to_have_nothing) {
  // A proxy whose store is away, or a wrong path in its URL: all objects would be taken for gone.
  publish({listed("a", {memory}), listed("c", {memory})});
  BOOST_REQUIRE(becomes(R"({"keys":["a","c"]})", R"({"exists":[1,1]})"));
  stub_mp_server another([](const stub_mp_server::asked&) { return stub_mp_server::told{.status = 404, .body = "404 page not found"}; });
  add_store("http://127.0.0.1:" + std::to_string(another.port()));

  BOOST_TEST(eventually([&] { return call("GET", "/stores").body.find(R"("reachable":false)") != std::string::npos; }));
  BOOST_TEST(exist(R"({"keys":["a","b","c"],"backend_id":"store-1"})") == R"({"exists":[1,-2000,1]})");
  BOOST_TEST(differences("vanished") == 0);
}

BOOST_AUTO_TEST_CASE(a_store_that_refuses_everything_is_told_of_before_there_are_objects) {
  stub_mp_server another([](const stub_mp_server::asked&) { return stub_mp_server::told{.status = 500, .body = "no"}; });
  add_store("http://127.0.0.1:" + std::to_string(another.port()));
  BOOST_TEST(eventually([&] { return call("GET", "/stores").body.find(R"("reachable":false)") != std::string::npos; }));
  publish({listed("a", {memory})});
  BOOST_REQUIRE(becomes(R"({"key":"a"})", R"({"exists":1})"));
  BOOST_TEST(exist(R"({"key":"b","backend_id":"store-1"})") == R"({"exists":-2000})");
}

BOOST_AUTO_TEST_CASE(a_store_is_not_believed_before_its_first_answer) {
  const std::string probe = R"({"key":"b","backend_id":"store-1"})";
  master.hold();
  add_store(master.url());
  BOOST_TEST(exist(probe) == R"({"exists":-2000})");
  BOOST_TEST(call("GET", "/stores").body.find(R"("reachable":null)") != std::string::npos);
  master.resume();

  // Nobody asks for anything: it is looked for all the same.
  BOOST_TEST(eventually([&] { return call("GET", "/stores").body.find(R"("reachable":true)") != std::string::npos; }));
  BOOST_TEST(exist(probe) == R"({"exists":0})");
}

BOOST_AUTO_TEST_CASE(one_lost_answer_is_no_new_beginning_of_a_store) {
  // What was just promoted, and evicted again by a store that knows why, was promoted again after each broken connection.
  master.put("ssd", {.local_disk = true});
  publish({listed("ssd", {local_disk})});
  add_store(master.url());
  const std::string wish = R"({"key":"ssd","backend_id":"store-1","prefetch":true)";
  BOOST_REQUIRE(becomes(wish + R"(,"wait_ms":10000})", R"({"exists":1,"prefetch":"started"})"));
  BOOST_REQUIRE(becomes(wish + "}", R"({"exists":1,"prefetch":"none"})"));
  master.put("ssd", {.local_disk = true});
  BOOST_REQUIRE(becomes(wish + "}", R"({"exists":1,"prefetch":"suppressed"})"));

  const double failures = metric("kvc_store_reconcile_failures_total");
  master.babble("garbage", 1);
  BOOST_REQUIRE(eventually([&] { return metric("kvc_store_reconcile_failures_total") > failures; }));
  BOOST_REQUIRE(eventually([&] { return call("GET", "/stores").body.find(R"("reachable":true)") != std::string::npos; }));
  BOOST_TEST(exist(wish + "}") == R"({"exists":1,"prefetch":"suppressed"})");
}

BOOST_AUTO_TEST_CASE(of_two_backends_the_one_that_can_promote_is_asked) {
  // The same key in both; nobody moves anything in the first.
  publish({listed("d", {local_disk})});
  BOOST_REQUIRE(becomes(R"({"key":"d","backend_id":"store-1"})", R"({"exists":1})"));
  master.put("d", {.local_disk = true});
  add_store(master.url(), "store-2");
  BOOST_REQUIRE(becomes(R"({"key":"d","backend_id":"store-2"})", R"({"exists":1})"));

  BOOST_TEST(exist(R"({"key":"d","prefetch":true})") == R"({"exists":1,"prefetch":"started"})");
}

// Only what was in the table was remembered when it went: of other keys an answer of before that was believed.
BOOST_FIXTURE_TEST_CASE(a_key_nobody_has_told_of_that_is_removed_while_its_store_is_asked_stays_away, slow_answer_fixture) {
  master.put("b", {.memory = true});
  publish({listed("b", {memory})});
  BOOST_REQUIRE(becomes(R"({"key":"b"})", R"({"exists":1})"));
  add_store(master.url());
  // From here on it is asked about keys only.
  BOOST_REQUIRE(eventually([&] { return call("GET", "/stores").body.find(R"("reachable":true)") != std::string::npos; }));
  const std::vector<std::vector<core::event>> ways{{listed("removed", {})}, {core::cleared_event{}}};
  for (const auto& [key, way] : {std::pair{"removed", ways.front()}, std::pair{"cleared", ways.back()}}) {
    master.put(key, {.memory = true});
    const std::size_t before = master.server().delay();
    BOOST_REQUIRE(eventually([&] {
      (void)exist(R"({"key":")" + std::string(key) + R"(","backend_id":"store-1"})");
      const auto asked = master.server().so_far();
      return std::any_of(asked.begin() + static_cast<std::ptrdiff_t>(before), asked.end(),
                         [&](const stub_mp_server::asked& each) { return each.target.find(key) != std::string::npos; });
    }));
    master.remove(key);
    const std::string next = std::string("behind ") + key;
    master.put(next, {.memory = true});
    std::vector<core::event> told = way;
    told.push_back(listed(next, {memory}));
    publish(std::move(told));
    BOOST_REQUIRE(becomes(R"({"key":")" + next + "\"}", R"({"exists":1})"));
    const double overtaken = metric("kvc_store_reconcile_overtaken_total");
    master.server().resume();

    BOOST_TEST(eventually([&] { return metric("kvc_store_reconcile_overtaken_total") > overtaken; }));
    BOOST_TEST(exist(R"({"key":")" + std::string(key) + "\"}") == R"({"exists":0})");
    BOOST_TEST(metric(R"(kvc_store_reconcile_total{difference="appeared"})") == 0);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kvc::test
