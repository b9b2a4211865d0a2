// What MP servers tell about objects, over sockets: /quota/events and the later forms of it.
#include <string>
#include <string_view>
#include <utility>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/test/unit_test.hpp>

#include "net/coordinator_tables.hpp"
#include "tests/support/net/coordinator_fixture.hpp"

BOOST_AUTO_TEST_SUITE(coordinator_events)

namespace {

using namespace kvc::test;

constexpr std::uint64_t gib = 1'073'741'824;

/// A batch with one event whose key is as told.
std::string with_key(std::string_view key) {
  return batch_text(1, R"({"type":"store","key":)" + std::string(key) + R"(,"bytes":1})");
}

std::string batches_text(std::uint64_t incarnation, std::uint64_t number, std::string_view type, std::string_view entries,
                         std::string_view tier = "l2") {
  return R"({"batches":[{"instance_id":"a","incarnation":)" + std::to_string(incarnation) + R"(,"seq":)" + std::to_string(number) +
         R"(,"event_type":")" + std::string(type) + R"(","tier":")" + std::string(tier) +
         R"(","backend":"fs","shared":true,"ts":1.5,"entries":[)" + std::string(entries) + "]}]}";
}

std::string entry_text(std::string_view hash, std::uint64_t bytes) {
  return R"({"key":)" + key_text(hash) + R"(,"size_bytes":)" + std::to_string(bytes) + R"(,"token_ids":null,"token_offset":0})";
}

struct fault_row {
  const char* body;
  const char* type;
  const char* place;
};

}  // namespace

BOOST_AUTO_TEST_CASE(stores_and_deletions_change_usage) {
  coordinator_fixture service;
  const auto used = [&] { return json_of(service.call("GET", "/quota/s")).at("usage_gb").to_number<double>(); };

  const raw_answer recorded = service.call("POST", "/quota/events",
                                           batch_text(1, event_text("store", "aa", gib) + "," + event_text("store", "bb", gib) + "," +
                                                             event_text("lookup", "aa", 7) + "," + event_text("lookup", "ee", 0)));
  BOOST_TEST(recorded.status == 200);
  BOOST_TEST(recorded.body == R"({"recorded":4})", "what has no effect counts as well");
  BOOST_TEST(used() == 2.0);

  service.call("POST", "/quota/events", batch_text(2, event_text("store", "aa", gib / 2)));
  BOOST_TEST(used() == 1.5, "a known key counts by the difference");
  service.call("POST", "/quota/events", batch_text(1, event_text("store", "aa", gib / 2), "b"));
  BOOST_TEST(used() == 1.5, "two servers that store one object share it");
  service.call("POST", "/quota/events", batch_text(3, event_text("delete", "aa", 99) + "," + event_text("delete", "dd", 5)));
  BOOST_TEST(used() == 1.0, "a deletion takes what was stored, whatever it says");
  service.call("POST", "/quota/events", batch_text(4, event_text("delete", "bb", 0)));
  BOOST_TEST(json_of(service.call("GET", "/quota")).at("by_cache_salt").as_array().empty());
}

BOOST_AUTO_TEST_CASE(one_key_in_every_way_of_writing_it) {
  coordinator_fixture service;
  for (const char* hex : {"ABcd", "abcd", "AB cd"}) {
    BOOST_TEST(service.call("POST", "/quota/events", batch_text(1, event_text("store", hex, 1))).status == 200, hex);
  }
  BOOST_TEST(service.metric("kvc_coordinator_keys") == 1);

  // Each of the five fields makes another key; an empty hash is one, and a rank may be any number.
  service.call("POST", "/quota/events", with_key(R"({"chunk_hash_hex":"","model_name":"m","kv_rank":-5})"));
  service.call("POST", "/quota/events", with_key(R"({"chunk_hash_hex":"abcd","model_name":"n","kv_rank":16777472,"cache_salt":"s"})"));
  service.call("POST", "/quota/events", with_key(R"({"chunk_hash_hex":"abcd","model_name":"m","kv_rank":"1","cache_salt":"s"})"));
  service.call("POST", "/quota/events",
               with_key(R"({"chunk_hash_hex":"abcd","model_name":"m","kv_rank":16777472,"cache_salt":"s","object_group_id":1})"));
  BOOST_TEST(service.metric("kvc_coordinator_keys") == 5);
}

BOOST_AUTO_TEST_CASE(an_empty_batch_is_one) {
  coordinator_fixture service;
  BOOST_TEST(service.call("POST", "/quota/events", R"({"instance_id":"","seq":1,"events":[]})").body == R"({"recorded":0})");
}

BOOST_AUTO_TEST_CASE(a_batch_with_a_fault_changes_nothing) {
  const std::string good = event_text("store", "aa", 1);
  const std::string too_long(129, 'x');
  const std::string rows_body[] = {
      batch_text(1, good + "," + event_text("store", "abc", 1)),
      batch_text(1, good + "," + event_text("store", "xy", 1)),
      batch_text(1, good + "," + event_text("store", "aa", 1, "a@b")),
      batch_text(1, good + "," + event_text("store", "aa", 1, "a/b")),
      batch_text(1, good + "," + event_text("store", "aa", 1, "a\\\\b")),
      batch_text(1, good + "," + event_text("store", "aa", 1, "a\\u0000b")),
      batch_text(1, good + "," + event_text("store", "aa", 1, too_long)),
      batch_text(1, good + R"(,{"type":"store","key":{"chunk_hash_hex":"aa","model_name":"a@b","kv_rank":0},"bytes":1})"),
      batch_text(1,
                 good + R"(,{"type":"store","key":{"chunk_hash_hex":"aa","model_name":"m","kv_rank":0,"object_group_id":-1},"bytes":1})"),
      batch_text(1, good + "," + event_text("store", std::string(4'098, 'a'), 1)),
      batch_text(1, good + R"(,{"type":"store","key":{"chunk_hash_hex":"aa","model_name":")" + std::string(4'097, 'm') +
                        R"(","kv_rank":0},"bytes":1})"),
  };
  coordinator_fixture service;
  for (const std::string& body : rows_body) {
    const raw_answer refused = service.call("POST", "/quota/events", body);
    BOOST_TEST(refused.status == 422, body);
    const auto faults = json_of(refused).at("detail").as_array();
    BOOST_TEST(faults.size() == 1U, refused.body);
    BOOST_TEST((faults.at(0).at("loc") == boost::json::parse(R"(["body","events",1,"key"])")), refused.body);
    BOOST_TEST(faults.at(0).at("type").as_string() == "value_error");
    BOOST_TEST(faults.at(0).at("ctx").at("error").as_object().empty());
  }
  BOOST_TEST(service.metric("kvc_coordinator_keys") == 0);
}

BOOST_AUTO_TEST_CASE(tells_where_a_field_is_wrong) {
  const fault_row rows[] = {
      {R"({"seq":1,"events":[]})", "missing", R"(["body","instance_id"])"},
      {R"({"instance_id":1,"seq":1,"events":[]})", "string_type", R"(["body","instance_id"])"},
      {R"({"instance_id":"a","events":[]})", "missing", R"(["body","seq"])"},
      {R"({"instance_id":"a","seq":0,"events":[]})", "greater_than_equal", R"(["body","seq"])"},
      {R"({"instance_id":"a","seq":1})", "missing", R"(["body","events"])"},
      {R"({"instance_id":"a","seq":1,"events":{}})", "list_type", R"(["body","events"])"},
      {R"({"instance_id":"a","seq":1,"events":null})", "list_type", R"(["body","events"])"},
      {R"({"instance_id":"a","seq":1,"events":[],"tier":"l4"})", "enum", R"(["body","tier"])"},
      {R"({"instance_id":"a","seq":1,"events":[7]})", "model_attributes_type", R"(["body","events",0])"},
      {R"({"instance_id":"a","seq":1,"events":[{"type":"evict","key":{"chunk_hash_hex":"","model_name":"m","kv_rank":0},"bytes":1}]})",
       "enum", R"(["body","events",0,"type"])"},
      {R"({"instance_id":"a","seq":1,"events":[{"type":"store","key":{"chunk_hash_hex":"","model_name":"m","kv_rank":0}}]})", "missing",
       R"(["body","events",0,"bytes"])"},
      {R"({"instance_id":"a","seq":1,"events":[{"type":"store","key":{"chunk_hash_hex":"","model_name":"m","kv_rank":0},"bytes":-1}]})",
       "greater_than_equal", R"(["body","events",0,"bytes"])"},
      {R"({"instance_id":"a","seq":1,"events":[{"type":"store","bytes":1}]})", "missing", R"(["body","events",0,"key"])"},
      {R"({"instance_id":"a","seq":1,"events":[{"type":"store","key":{"model_name":"m","kv_rank":0},"bytes":1}]})", "missing",
       R"(["body","events",0,"key","chunk_hash_hex"])"},
      {R"({"instance_id":"a","seq":1,"events":[{"type":"store","key":{"chunk_hash_hex":"","model_name":"m","kv_rank":1.5},"bytes":1}]})",
       "int_from_float", R"(["body","events",0,"key","kv_rank"])"},
      {R"({"instance_id":"a","seq":1,"events":[{"type":"store","key":"k","bytes":1}]})", "model_attributes_type",
       R"(["body","events",0,"key"])"},
  };
  coordinator_fixture service;
  for (const fault_row& each : rows) {
    const raw_answer refused = service.call("POST", "/quota/events", each.body);
    BOOST_TEST(refused.status == 422, each.body);
    const auto faults = json_of(refused).at("detail").as_array();
    BOOST_TEST(faults.size() == 1U, refused.body);
    BOOST_TEST(faults.at(0).at("type").as_string() == each.type, refused.body);
    BOOST_TEST((faults.at(0).at("loc") == boost::json::parse(each.place)), refused.body);
  }
}

BOOST_AUTO_TEST_CASE(the_id_of_a_sender_is_bounded) {
  // It is kept for as long as its sender is remembered, and need not be registered by anybody.
  coordinator_fixture service;
  const std::string longest(std::size_t{64} << 10, 'i');
  const auto batches = [](const std::string& id, const char* seqno) {
    return R"({"batches":[{"instance_id":")" + id + R"(","incarnation":1,"seq":)" + seqno + R"(,"event_type":"store","entries":[]}]})";
  };
  BOOST_TEST(service.call("POST", "/quota/events", batch_text(1, "", longest)).status == 200);
  BOOST_TEST(service.call("POST", "/events", batches(longest, "1")).status == 200);

  const std::pair<const char*, std::string> rows[] = {
      {"/quota/events", batch_text(1, "", longest + "i")},
      {"/quota/events", batch_text(1, "", longest + R"(\u0069)")},  // read the long way
      {"/events", batches(longest + "i", "2")},
      {"/directory/events", batches(longest + "i", "2")},
  };
  for (const auto& [path, body] : rows) {
    const raw_answer refused = service.call("POST", path, body);
    BOOST_TEST(refused.status == 422, path);
    BOOST_TEST(refused.body.size() < 1'000U, "it does not come back");
    const auto faults = json_of(refused).at("detail").as_array();
    BOOST_REQUIRE(faults.size() == 1U);
    BOOST_TEST(faults.at(0).at("type").as_string() == "value_error");
    BOOST_TEST(faults.at(0).at("loc").as_array().back().as_string() == "instance_id");
  }
  BOOST_TEST(service.metric("kvc_coordinator_batches_total") == 1);
  BOOST_TEST(service.metric("kvc_coordinator_fenced_applied_total") == 1);
}

BOOST_AUTO_TEST_CASE(other_tiers_are_refused) {
  coordinator_fixture service;
  const raw_answer refused = service.call("POST", "/quota/events", R"({"instance_id":"a","seq":1,"tier":"l1","events":[]})");
  BOOST_TEST(refused.status == 400);
  BOOST_TEST(refused.body == R"({"detail":"tier 'l1' not supported; only 'l2'"})");
}

BOOST_AUTO_TEST_CASE(a_hostile_batch_is_answered_in_bounded_words) {
  // A thousand faults are told, and no value at fault comes back at its full length.
  coordinator_fixture service;
  std::string events;
  for (int i = 0; i < 5'000; ++i) events += i == 0 ? "7" : ",7";
  const raw_answer refused = service.call("POST", "/quota/events", batch_text(1, events));
  BOOST_TEST(refused.status == 422);
  BOOST_TEST(json_of(refused).at("detail").as_array().size() == 1'000U);
  const raw_answer deep = service.call("POST", "/quota/events", std::string(100'000, '['));
  BOOST_TEST(deep.status == 422);
  const raw_answer large =
      service.call("POST", "/instances",
                   R"({"ip":")" + std::string(100'000, 'x') + R"(","http_port":0,"metadata":")" + std::string(100'000, 'y') + "\"}");
  BOOST_TEST(large.status == 422);
  BOOST_TEST(large.body.size() < 10'000U);
}

BOOST_AUTO_TEST_CASE(numbers_of_batches_are_watched_and_every_batch_counts) {
  // Clients start again at 1 without saying so; operators see it by server.
  coordinator_fixture service;
  for (const std::uint64_t number : {1U, 2U, 5U, 5U, 1U}) {
    BOOST_TEST(service.call("POST", "/quota/events", batch_text(number, event_text("store", "aa", number), R"(b\"1)")).status == 200);
  }
  BOOST_TEST(service.metric("kvc_coordinator_batches_total") == 5);
  BOOST_TEST(service.metric("kvc_coordinator_seq_gaps_total") == 1);
  BOOST_TEST(service.metric("kvc_coordinator_seq_missing_total") == 2);
  BOOST_TEST(service.metric("kvc_coordinator_seq_repeats_total") == 1);
  BOOST_TEST(service.metric("kvc_coordinator_seq_restarts_total") == 1);
  BOOST_TEST(service.metric(R"(kvc_coordinator_sender_seq_missing_total{instance_id="b\"1"})") == 2);
  BOOST_TEST(service.metric("kvc_coordinator_stores_total") == 5);
}

BOOST_AUTO_TEST_CASE(a_long_batch_is_applied_in_its_order) {
  // Longer than one slice; the last store of a key decides.
  coordinator_fixture service;
  std::string events;
  for (int i = 0; i < 5'000; ++i) events += event_text("store", "aa", static_cast<std::uint64_t>(i)) + ",";
  events += event_text("store", "aa", gib);
  BOOST_TEST(service.call("POST", "/quota/events", batch_text(1, events)).body == R"({"recorded":5001})");
  BOOST_TEST(json_of(service.call("GET", "/quota")).at("total_gb").to_number<double>() == 1.0);
}

BOOST_AUTO_TEST_CASE(stores_beyond_the_bound_are_counted_and_not_tracked) {
  coordinator_options options;
  options.coordinator.max_keys = 2;
  coordinator_fixture service(options);
  const std::string three = event_text("store", "01", 1) + "," + event_text("store", "02", 1) + "," + event_text("store", "03", 1);
  BOOST_TEST(service.call("POST", "/quota/events", batch_text(1, three)).body == R"({"recorded":3})");
  BOOST_TEST(service.metric("kvc_coordinator_keys") == 2);
  BOOST_TEST(service.metric("kvc_coordinator_refused_stores_total") == 1);
}

BOOST_AUTO_TEST_CASE(a_batch_with_an_incarnation_counts_once) {
  coordinator_fixture service;
  const std::string first = batches_text(7, 1, "store", entry_text("aa", gib));
  BOOST_TEST(service.call("POST", "/events", first).body == R"({"applied":1,"duplicates":0,"stale":0})");
  BOOST_TEST(service.call("POST", "/directory/events", first).body == R"({"applied":0,"duplicates":1,"stale":0})");
  BOOST_TEST(service.call("POST", "/events", batches_text(7, 2, "access", entry_text("aa", 0))).status == 200);
  BOOST_TEST(json_of(service.call("GET", "/quota/s")).at("usage_gb").to_number<double>() == 1.0);

  BOOST_TEST(service.call("POST", "/events", batches_text(8, 1, "delete", R"({"key":)" + key_text("aa") + "}")).body ==
             R"({"applied":1,"duplicates":0,"stale":0})");
  BOOST_TEST(service.call("POST", "/events", batches_text(7, 3, "store", entry_text("aa", gib))).body ==
                 R"({"applied":0,"duplicates":0,"stale":1})",
             "a batch of an ended process");
  BOOST_TEST(json_of(service.call("GET", "/quota")).at("total_gb").to_number<double>() == 0.0);
}

BOOST_AUTO_TEST_CASE(batches_about_other_things_have_no_effect) {
  coordinator_fixture service;
  BOOST_TEST(service.call("POST", "/events", batches_text(1, 1, "config", R"({"anything":1})")).body ==
             R"({"applied":1,"duplicates":0,"stale":0})");
  BOOST_TEST(service.call("POST", "/events", batches_text(1, 2, "store", entry_text("aa", 1), "l1")).status == 200);
  BOOST_TEST(service.call("POST", "/events", R"({"batches":[]})").body == R"({"applied":0,"duplicates":0,"stale":0})");
  BOOST_TEST(service.metric("kvc_coordinator_keys") == 0);
}

BOOST_AUTO_TEST_CASE(batches_with_a_fault_change_nothing) {
  coordinator_fixture service;
  const std::string two = R"({"batches":[{"instance_id":"a","incarnation":1,"seq":1,"event_type":"store","tier":"l2","entries":[)" +
                          entry_text("aa", 1) + R"(]},{"instance_id":"a","incarnation":1,"seq":2,"event_type":"store","entries":[)" +
                          entry_text("abc", 1) + "]}]}";
  const raw_answer refused = service.call("POST", "/events", two);
  BOOST_TEST(refused.status == 422);
  BOOST_TEST((json_of(refused).at("detail").at(0).at("loc") == boost::json::parse(R"(["body","batches",1,"entries",0,"key"])")));
  for (const char* body :
       {"{}", "[]", R"({"batches":[{}]})", R"({"batches":[{"instance_id":"a","incarnation":1,"seq":1,"event_type":"x"}]})"}) {
    BOOST_TEST(service.call("POST", "/events", body).status == 422, body);
  }
  BOOST_TEST(service.metric("kvc_coordinator_keys") == 0);
  BOOST_TEST(service.metric("kvc_coordinator_fenced_applied_total") == 0);
}

BOOST_AUTO_TEST_CASE(entries_are_looked_at_though_it_is_wrong_what_they_are_about) {
  // Who had told more than that wrong was told of the rest once that was mended.
  coordinator_fixture service;
  const std::string begin = R"({"batches":[{"instance_id":"a","incarnation":1,"seq":1,)";
  const std::string entries = R"(,"entries":[{"key":)" + key_text("abc") + R"(},{"key":)" + key_text("ab") + R"(,"size_bytes":-1},7]}]})";
  for (const char* const wrong : {R"("event_type":"stored")", R"("event_type":7)", R"("event_type":"delete","tier":7)", R"("tier":"l2")"}) {
    const raw_answer refused = service.call("POST", "/events", begin + wrong + entries);
    BOOST_TEST(refused.status == 422, wrong);
    std::string places;
    const boost::json::value told = json_of(refused);
    for (const auto& each : told.at("detail").as_array()) places += boost::json::serialize(each.at("loc")) + " ";
    const std::string at = R"(["body","batches",0,")";
    const std::string first = at + (std::string(wrong).ends_with(R"("tier":7)") ? "tier" : "event_type") + "\"] ";
    BOOST_TEST(places == first + at + R"(entries",0,"key"] )" + at + R"(entries",1,"size_bytes"] )" + at + R"(entries",2] )", wrong);
  }
  // What they are about is known here, and nothing that the ledger keeps.
  for (const char* const other : {R"("event_type":"config")", R"("event_type":"store","tier":"l1")"}) {
    BOOST_TEST(service.call("POST", "/events", begin + other + entries).status == 200, other);
  }
}

BOOST_AUTO_TEST_CASE(what_did_not_come_is_counted_by_two_rising_numbers) {
  // Whoever watches them takes a fall for a restart of the service.
  coordinator_fixture service;
  for (const auto& [incarnation, number] : {std::pair{1, 5}, {1, 4}, {1, 10}, {1, 7}, {2, 3}, {2, 1}}) {
    BOOST_TEST(service.call("POST", "/events", batches_text(incarnation, number, "access", entry_text("aa", 0))).status == 200);
  }
  BOOST_TEST(service.metric("kvc_coordinator_fenced_skipped_total") == 4);
  BOOST_TEST(service.metric("kvc_coordinator_fenced_late_total") == 1, "what was sent before the first one heard was never skipped");
  BOOST_TEST(service.metric("kvc_coordinator_fenced_applied_total") == 6);
}

BOOST_AUTO_TEST_CASE(the_memory_of_the_ledger_is_enough_for_the_keys_allowed) {
  kvc::net::coordinator_settings settings;
  BOOST_TEST(kvc::net::ledger_limits(settings).bytes == std::size_t{2} << 30);
  settings.max_keys = 100'000'000;
  BOOST_TEST(kvc::net::ledger_limits(settings).keys == 100'000'000U);
  BOOST_TEST(kvc::net::ledger_limits(settings).bytes >= 100'000'000U * std::size_t{100});
}

BOOST_AUTO_TEST_SUITE_END()
