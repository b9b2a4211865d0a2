#include <algorithm>
#include <chrono>
#include <future>
#include <string>
#include <utility>

#include <boost/test/unit_test.hpp>

#include "tests/support/net/payloads.hpp"
#include "tests/support/net/store_blocks.hpp"
#include "tests/support/net/truth_fixture.hpp"

namespace kvc::test {
namespace {

using enum core::replica_kind;

/// Nothing gets old: only what somebody asks for is read.
struct calm_fixture : store_fixture {
  static net::store_settings settings() {
    net::store_settings with = watchful_stores();
    with.reconcile_age = std::chrono::hours(1);
    return with;
  }
  calm_fixture() : store_fixture(settings()) { open_pool(); }

  /// What a store says that names media one by one.
  static core::event in_memory(const std::string& key, core::object_event::change what) {
    core::object_event event;
    event.scope.object_key = key;
    event.scope.model = "m";
    event.scope.block_size = 4;
    event.scope.medium = core::medium_id::cpu;
    event.what = what;
    return event;
  }

  stub_master master;
};

/// The same before anybody publishes.
struct quiet_fixture : store_fixture {
  quiet_fixture() : store_fixture(calm_fixture::settings()) {}

  stub_master master;
};

const std::string query = R"({"model":"m","block_size":4,"token_ids":[1,2,3,4]})";

/// Answers may be held back for as long as it takes.
struct patient_fixture : store_fixture {
  static net::store_settings settings() {
    net::store_settings with = watchful_stores();
    with.store_call_timeout = std::chrono::milliseconds(20'000);
    return with;
  }
  patient_fixture() : store_fixture(settings()) { open_pool(); }

  /// Waits until the store is asked about `key`, by a request behind the first `before`.
  bool is_asked_about(stub_master& which, const std::string& key, std::size_t before) {
    return eventually([&] {
      const auto asked = which.server().so_far();
      return std::any_of(asked.begin() + static_cast<std::ptrdiff_t>(before), asked.end(),
                         [&](const stub_mp_server::asked& each) { return each.target.find("keys=" + key) != std::string::npos; });
    });
  }

  stub_master master;
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(store_reconciliations, truth_fixture)

BOOST_AUTO_TEST_CASE(what_a_store_is_silent_about_is_found_out) {
  publish({listed("a", {memory}), listed("b", {memory}), listed("c", {memory})});
  BOOST_REQUIRE(becomes(R"({"keys":["a","b","c"]})", R"({"exists":[1,1,1]})"));
  master.put("a", {.memory = true});
  master.put("b", {.local_disk = true});  // evicted to its disk, and c removed, without a word
  add_store(master.url());

  BOOST_TEST(becomes(R"({"keys":["a","b","c"]})", R"({"exists":[1,1,0]})"));
  BOOST_TEST(eventually([&] { return differences("evicted") == 1 && differences("offloaded") == 1; }));
  BOOST_TEST(differences("vanished") == 1);
  BOOST_TEST(metric(R"(kvc_store_objects{medium="memory"})") == 1);
}

BOOST_AUTO_TEST_CASE(an_object_nobody_told_about_is_found_by_asking_for_it) {
  master.put("silent", {.memory = true});
  add_store(master.url());

  BOOST_TEST(becomes(R"({"key":"silent","backend_id":"store-1"})", R"({"exists":1})"));
  BOOST_TEST(differences("appeared") == 1);
}

BOOST_FIXTURE_TEST_CASE(what_memory_has_given_to_a_disk_without_a_word_is_found_although_nobody_asks, calm_fixture) {
  using change = core::object_event::change;
  master.put("moved", {.local_disk = true});
  add_store(master.url());

  // No probe in between: it would have the keys read.
  publish({in_memory("moved", change::stored), in_memory("gone", change::stored), in_memory("moved", change::removed),
           in_memory("gone", change::removed)},
          net::event_form::mooncake_branch);

  BOOST_TEST(eventually([&] { return metric(R"(kvc_store_objects{medium="local_disk"})") == 1; }));
  BOOST_TEST(exist(R"({"keys":["moved","gone"]})") == R"({"exists":[1,0]})");
  BOOST_TEST(metric(R"(kvc_store_objects{medium="memory"})") == 0);
}

// The answer is of before the removal: it brought the key back until the next sweep.
BOOST_FIXTURE_TEST_CASE(a_key_that_is_removed_while_its_store_is_asked_stays_away, patient_fixture) {
  master.put("a", {.memory = true});
  add_store(master.url());
  publish({listed("a", {memory})});
  BOOST_REQUIRE(becomes(R"({"key":"a"})", R"({"exists":1})"));
  BOOST_REQUIRE(is_asked_about(master, "a", master.server().so_far().size()));  // perhaps by a question from before it was known
  BOOST_REQUIRE(is_asked_about(master, "a", master.server().delay()));
  master.remove("a");
  publish({listed("a", {})});
  BOOST_REQUIRE(becomes(R"({"key":"a"})", R"({"exists":0})"));
  const double overtaken = metric("kvc_store_reconcile_overtaken_total");
  const double appeared = metric(R"(kvc_store_reconcile_total{difference="appeared"})");
  master.server().resume();

  BOOST_TEST(eventually([&] { return metric("kvc_store_reconcile_overtaken_total") == overtaken + 1; }));
  BOOST_TEST(exist(R"({"key":"a"})") == R"({"exists":0})");
  BOOST_TEST(metric(R"(kvc_store_reconcile_total{difference="appeared"})") == appeared);
}

// Such a key was taken for one that nobody had told of, and stood in the table until the next sweep.
BOOST_FIXTURE_TEST_CASE(a_key_that_comes_and_goes_while_its_store_is_asked_stays_away, patient_fixture) {
  master.put("a", {.memory = true});
  add_store(master.url());
  // From here on it is asked about keys only.
  BOOST_REQUIRE(eventually([&] { return call("GET", "/stores").body.find(R"("reachable":true)") != std::string::npos; }));
  master.server().delay();
  const auto is_asked = [&] {
    const auto asked = master.server().so_far();
    return std::ranges::any_of(asked, [](const stub_mp_server::asked& each) { return each.target.find("keys=a") != std::string::npos; });
  };
  BOOST_REQUIRE(eventually([&] {
    (void)exist(R"({"key":"a","backend_id":"store-1"})");  // nobody has told of it: it is sought
    return is_asked();
  }));
  publish({listed("a", {memory})});
  BOOST_REQUIRE(becomes(R"({"key":"a"})", R"({"exists":1})"));
  master.remove("a");
  publish({listed("a", {})});
  BOOST_REQUIRE(becomes(R"({"key":"a"})", R"({"exists":0})"));
  const double overtaken = metric("kvc_store_reconcile_overtaken_total");
  master.server().resume();

  BOOST_TEST(eventually([&] { return metric("kvc_store_reconcile_overtaken_total") >= overtaken + 1; }));
  BOOST_TEST(exist(R"({"key":"a"})") == R"({"exists":0})");
  BOOST_TEST(metric(R"(kvc_store_reconcile_total{difference="appeared"})") == 0);
}

// The end of the first one's looks, which comes late, used to say that the second one can be reached.
BOOST_FIXTURE_TEST_CASE(a_store_that_was_replaced_says_nothing_about_its_successor, patient_fixture) {
  master.put("a", {.memory = true});
  add_store(master.url());
  publish({listed("a", {memory})});
  BOOST_REQUIRE(becomes(R"({"key":"a"})", R"({"exists":1})"));
  BOOST_REQUIRE(is_asked_about(master, "a", master.server().delay()));
  stub_master next;
  next.babble("nonsense");
  add_store(next.url());
  BOOST_REQUIRE(becomes(R"({"key":"b","backend_id":"store-1"})", R"({"exists":-2000})"));
  const double asked = metric("kvc_store_reconciled_keys_total");
  const double failures = metric("kvc_store_reconcile_failures_total");
  master.server().resume();
  const auto heard = master.server().so_far().size();

  // Some more of its looks, so that the end of the first one's is past.
  BOOST_TEST(eventually([&] { return metric("kvc_store_reconcile_failures_total") >= failures + 2; }));
  BOOST_TEST(exist(R"({"key":"b","backend_id":"store-1"})") == R"({"exists":-2000})");
  BOOST_TEST(metric("kvc_store_reconciled_keys_total") == asked);
  BOOST_TEST(master.server().so_far().size() == heard);
  next.babble("");
  BOOST_TEST(becomes(R"({"keys":["a","b"],"backend_id":"store-1"})", R"({"exists":[0,0]})"));
}

BOOST_FIXTURE_TEST_CASE(what_an_event_has_made_doubtful_is_asked_for_once_the_store_can_be_asked, calm_fixture) {
  using change = core::object_event::change;
  master.put("moved", {.local_disk = true});
  master.depose("http://127.0.0.1:1");  // nobody leads, and nobody is there who could be asked
  add_store(master.url());
  publish({in_memory("moved", change::stored), in_memory("moved", change::removed)}, net::event_form::mooncake_branch);
  BOOST_REQUIRE(eventually([&] { return metric("kvc_store_reconcile_failures_total") >= 1; }));
  master.depose("");

  // No probe in between: it would have the key read.
  BOOST_TEST(eventually([&] { return metric(R"(kvc_store_objects{medium="local_disk"})") == 1; }));
}

BOOST_FIXTURE_TEST_CASE(what_was_asked_for_while_nobody_leads_is_asked_for_again, calm_fixture) {
  // "Not the leader" until the deadline used to count as an answer that the keys are to blame for, and they were forgotten.
  using change = core::object_event::change;
  master.put("moved", {.local_disk = true});
  master.depose("?");  // whoever is asked who leads does not know
  add_store(master.url());
  publish({in_memory("moved", change::stored), in_memory("moved", change::removed)}, net::event_form::mooncake_branch);
  BOOST_REQUIRE(eventually([&] { return metric("kvc_store_reconcile_failures_total") >= 1; }));
  master.depose("");

  BOOST_TEST(eventually([&] { return metric(R"(kvc_store_objects{medium="local_disk"})") == 1; }));
}

BOOST_AUTO_TEST_CASE(differences_reach_the_index) {
  const std::vector<std::uint32_t> tokens = tokens_from(1, 1);
  const std::uint64_t block = block_of(tokens, 0);
  master.put(std::to_string(block), {.memory = true});
  add_store(master.url());
  pool->publish(stored_block(tokens, 0, "cpu"));
  BOOST_REQUIRE(eventually([&] { return call("POST", "/query", query).body.find(R"("CPU":4)") != std::string::npos; }));

  master.put(std::to_string(block), {.local_disk = true});
  BOOST_TEST(eventually([&] { return call("POST", "/query", query).body.find(R"("CPU":0,"DISK":4)") != std::string::npos; }));
  master.remove(std::to_string(block));
  BOOST_TEST(eventually([&] { return call("POST", "/query", query).body.find(R"("longest_matched":0)") != std::string::npos; }));
}

// The table kept the objects, the store confirmed them, and as nothing was different nobody told the index, ever.
BOOST_FIXTURE_TEST_CASE(what_the_index_drops_with_a_lost_batch_comes_back_when_the_store_confirms_it, calm_fixture) {
  const std::vector<std::uint32_t> tokens = tokens_from(1, 1);
  const std::vector<std::uint32_t> later = tokens_from(101, 1);
  master.put(std::to_string(block_of(tokens, 0)), {.memory = true});
  master.put(std::to_string(block_of(later, 0)), {.memory = true});
  add_store(master.url());
  pool->publish(stored_block(tokens, 0, "cpu"));
  BOOST_REQUIRE(eventually([&] { return call("POST", "/query", query).body.find(R"("CPU":4)") != std::string::npos; }));

  static_cast<void>(pool->lose_forever());
  pool->publish(stored_block(later, 0, "cpu"));
  // Behind the loss, and so behind the drop.
  BOOST_REQUIRE(eventually([&] {
    return call("POST", "/query", R"({"model":"m","block_size":4,"token_ids":[101,102,103,104]})").body.find(R"("CPU":4)") !=
           std::string::npos;
  }));
  BOOST_TEST(call("GET", "/services").body.find(R"("lost":2,)") != std::string::npos);  // with the first one of all

  BOOST_TEST(eventually([&] { return call("POST", "/query", query).body.find(R"("CPU":4)") != std::string::npos; }));
  BOOST_TEST(metric(R"(kvc_store_objects{medium="memory"})") == 2);
}

BOOST_FIXTURE_TEST_CASE(what_probes_find_reaches_the_index_of_a_stream_that_has_said_nothing_yet, calm_fixture) {
  const std::string key = std::to_string(block_of(tokens_from(1, 1), 0));
  master.put(key, {.memory = true});
  add_store(master.url());
  BOOST_REQUIRE(becomes(R"({"key":")" + key + R"(","backend_id":"store-1"})", R"({"exists":1})"));

  BOOST_TEST(eventually([&] { return call("POST", "/query", query).body.find(R"("CPU":4)") != std::string::npos; }));
}

BOOST_FIXTURE_TEST_CASE(what_was_found_before_a_stream_began_reaches_its_index, quiet_fixture) {
  const std::string key = std::to_string(block_of(tokens_from(1, 1), 0));
  master.put(key, {.memory = true});
  add_store(master.url());
  BOOST_REQUIRE(becomes(R"({"key":")" + key + R"(","backend_id":"store-1"})", R"({"exists":1})"));
  open_pool();

  BOOST_TEST(eventually([&] { return call("POST", "/query", query).body.find(R"("CPU":4)") != std::string::npos; }));
}

BOOST_FIXTURE_TEST_CASE(a_clear_of_one_medium_leaves_the_others_their_objects, calm_fixture) {
  core::event on_disk = in_memory("a", core::object_event::change::stored);
  std::get<core::object_event>(on_disk).scope.medium = core::medium_id::disk;
  core::cleared_event clear;
  clear.scope.model = "m";
  clear.scope.block_size = 4;
  clear.scope.medium = core::medium_id::disk;
  publish({in_memory("a", core::object_event::change::stored), on_disk}, net::event_form::mooncake_branch);
  BOOST_REQUIRE(eventually([&] { return metric(R"(kvc_store_objects{medium="local_disk"})") == 1; }));
  publish({clear}, net::event_form::mooncake_branch);

  BOOST_TEST(eventually([&] { return metric(R"(kvc_store_objects{medium="local_disk"})") == 0; }));
  BOOST_TEST(exist(R"({"key":"a"})") == R"({"exists":1})");
}

BOOST_FIXTURE_TEST_CASE(objects_that_are_not_taken_are_counted, calm_fixture) {
  publish({listed(std::string(2'000, 'k'), {memory}), listed("a", {memory})});
  BOOST_REQUIRE(becomes(R"({"key":"a"})", R"({"exists":1})"));

  BOOST_TEST(metric("kvc_store_refused_events_total") == 1);
}

// One key for which the master refuses the whole list used to end what is found out about all others.
BOOST_AUTO_TEST_CASE(a_key_that_spoils_lists_costs_the_others_nothing) {
  std::vector<core::event> all;
  for (int i = 0; i < 60; ++i) all.push_back(listed("k" + std::to_string(i), {memory}));
  master.put("k7", {.memory = true, .spoils_lists = true});
  publish(std::move(all));
  BOOST_REQUIRE(becomes(R"({"key":"k59"})", R"({"exists":1})"));
  add_store(master.url());

  // No probe in between: the sweep goes on.
  BOOST_TEST(eventually([&] { return metric(R"(kvc_store_objects{medium="memory"})") == 1; }));
  BOOST_TEST(exist(R"({"keys":["k6","k7","k8"],"backend_id":"store-1"})") == R"({"exists":[0,1,0]})");
  BOOST_TEST(eventually([&] { return metric("kvc_store_reconcile_untold_total") >= 1; }));
}

BOOST_AUTO_TEST_CASE(lists_of_long_keys_fit_into_request_lines) {
  const std::string tail(150, '@');
  std::vector<core::event> all;
  for (int i = 0; i < 60; ++i) all.push_back(listed("k" + std::to_string(i) + tail, {memory}));
  publish(std::move(all));
  BOOST_REQUIRE(becomes("{\"key\":\"k59" + tail + "\"}", R"({"exists":1})"));
  master.set_longest_target(8'000);
  add_store(master.url());

  BOOST_TEST(eventually([&] { return metric(R"(kvc_store_objects{medium="memory"})") == 0; }));
  BOOST_TEST(metric("kvc_store_reconcile_failures_total") == 0);
  const auto asked = master.server().so_far();
  BOOST_TEST(std::ranges::none_of(asked, [](const auto& each) { return each.target.size() > 8'000; }));
}

BOOST_AUTO_TEST_CASE(a_stop_does_not_wait_for_what_others_bring) {
  // The request was cut off once the stop's patience had ended, and what was known was not told.
  master.put("a", {.local_disk = true, .is_copied = true});
  add_store(master.url());
  const std::string wish = R"({"key":"a","backend_id":"store-1","prefetch":true)";
  BOOST_REQUIRE(becomes(wish + "}", R"({"exists":1,"prefetch":"joined"})"));
  BOOST_TEST(metric(R"(kvc_prefetch_requests_total{outcome="joined"})") >= 1, "joined by the table is joined");

  auto waited = std::async(std::launch::async, [&] { return exist(wish + R"(,"wait_ms":20000})"); });
  const int looks = master.looks();
  BOOST_REQUIRE(eventually([&] { return master.looks() >= looks + 20; }));
  BOOST_TEST(lanes.stop(std::chrono::seconds(10)));
  BOOST_TEST(waited.get() == R"({"exists":1,"prefetch":"joined"})");
}

BOOST_AUTO_TEST_CASE(a_probe_may_wait_for_what_others_bring) {
  master.put("a", {.local_disk = true, .is_copied = true});
  add_store(master.url());
  BOOST_REQUIRE(becomes(R"({"key":"a","backend_id":"store-1","prefetch":true})", R"({"exists":1,"prefetch":"joined"})"));

  auto waited =
      std::async(std::launch::async, [this] { return exist(R"({"key":"a","backend_id":"store-1","prefetch":true,"wait_ms":20000})"); });
  const int looks = master.looks();
  BOOST_REQUIRE(eventually([&] { return master.looks() >= looks + 20; }));
  BOOST_TEST((waited.wait_for(std::chrono::seconds(0)) == std::future_status::timeout));
  master.put("a", {.memory = true, .local_disk = true});

  BOOST_TEST(waited.get().starts_with(R"({"exists":1,)"));
  BOOST_TEST(exist(R"({"key":"a","backend_id":"store-1","prefetch":true})") == R"({"exists":1,"prefetch":"none"})");
  BOOST_TEST(master.hits("a") == 0);
}

BOOST_AUTO_TEST_CASE(a_query_has_what_lies_on_disk_behind_its_match_promoted) {
  const std::vector<std::uint32_t> tokens = tokens_from(1, 3);
  for (std::uint32_t i = 0; i < 3; ++i) {
    master.put(std::to_string(block_of(tokens, i)), {.memory = i == 0, .local_disk = true});
    pool->publish(stored_block(tokens, i, "disk"));
  }
  pool->publish(stored_block(tokens, 0, "cpu"));
  add_store(master.url());
  const std::string start = R"({"model":"m","block_size":4,"instance_id":"pool","token_ids":[1,2,3,4,5,6,7,8,9,10,11,12])";
  BOOST_REQUIRE(eventually([&] { return call("POST", "/query", start + "}").body.find(R"("CPU":4,"DISK":12)") != std::string::npos; }));

  const std::string answer = call("POST", "/query", start + R"(,"prefetch":true,"prefetch_max_blocks":1})").body;
  BOOST_TEST(answer == call("POST", "/query", start + "}").body);
  BOOST_TEST(eventually([&] { return call("POST", "/query", start + "}").body.find(R"("CPU":8,"DISK":12)") != std::string::npos; }));
  BOOST_TEST(master.hits(std::to_string(block_of(tokens, 2))) == 0);
  BOOST_TEST(call("POST", "/query", R"({"model":"m","block_size":4,"token_ids":[1],"prefetch":true})").status == 400);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kvc::test
