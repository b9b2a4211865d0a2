// The fleet coordinator over sockets: rows of the specification.
#include <string>
#include <string_view>

#include <boost/test/unit_test.hpp>

#include "tests/support/net/coordinator_fixture.hpp"

namespace {

using kvc::test::coordinator_fixture;
using kvc::test::raw_answer;

bool has(const raw_answer& answer, std::string_view text) {
  return answer.body.find(text) != std::string::npos;
}

std::string event(std::string_view type, std::string_view hash, std::string_view bytes, std::string_view salt = "s") {
  return R"({"type":")" + std::string(type) + R"(","key":{"chunk_hash_hex":")" + std::string(hash) +
         R"(","model_name":"m","kv_rank":0,"cache_salt":")" + std::string(salt) + R"("},"bytes":)" + std::string(bytes) + "}";
}
std::string batch(std::string_view seqno, std::string_view events) {
  return R"({"instance_id":"a","seq":)" + std::string(seqno) + R"(,"events":[)" + std::string(events) + "]}";
}

}  // namespace

BOOST_AUTO_TEST_SUITE(coordinator)

BOOST_AUTO_TEST_CASE(registers_beats_and_leaves) {
  // What every MP server does in its life.
  coordinator_fixture service;
  const raw_answer joined = service.call("POST", "/instances", R"({"ip":" 10.0.0.5 ","http_port":"8080","instance_id":"a b"})");
  BOOST_TEST(joined.status == 200);
  BOOST_TEST(joined.body == R"({"instance_id":"a b","re_registered":false})");
  BOOST_TEST(service.call("PUT", "/instances/a%20b/heartbeat").body == R"({"instance_id":"a b"})");
  BOOST_TEST(has(service.call("POST", "/instances", R"({"ip":"x","http_port":1.0,"instance_id":"a b"})"), R"("re_registered":true)"));
  BOOST_TEST(has(service.call("GET", "/instances"), R"({"instance_id":"a b","ip":"x","http_port":1,"registration_time":)"));
  const raw_answer left = service.call("DELETE", "/instances/a%20b");
  BOOST_TEST(left.status == 204);
  BOOST_TEST(left.header("content-length") == "");
  BOOST_TEST(left.header("content-type") == "");
  const raw_answer unknown = service.call("PUT", "/instances/a%20b/heartbeat");
  BOOST_TEST(unknown.status == 404);
  BOOST_TEST(unknown.body == R"({"error":"unknown instance ID; re-register"})");
}

BOOST_AUTO_TEST_CASE(a_server_without_an_id_gets_one) {
  coordinator_fixture service;
  const raw_answer joined = service.call("POST", "/instances", R"({"ip":"x","http_port":1,"instance_id":"  "})");
  BOOST_TEST(has(joined, R"({"instance_id":"mp-)"));
}

BOOST_AUTO_TEST_CASE(tells_every_fault_of_a_registration) {
  // Clients of the other service show these to people.
  coordinator_fixture service;
  const raw_answer refused = service.call("POST", "/instances", R"({"ip":" ","http_port":70000,"instance_id":7,"mq_port":1.5})");
  BOOST_TEST(refused.status == 422);
  for (const std::string_view type : {"string_too_short", "less_than_equal", "string_type", "int_from_float"}) {
    BOOST_TEST(has(refused, type), type);
  }
  BOOST_TEST(has(refused, R"("loc":["body","http_port"])"));
  BOOST_TEST(has(refused, R"("ctx":{"le":65535})"));
  BOOST_TEST(has(service.call("POST", "/instances", "{"), "json_invalid"));
  BOOST_TEST(has(service.call("POST", "/instances"), R"("type":"missing")"));
  BOOST_TEST(has(service.call("POST", "/instances", "[]"), "model_attributes_type"));
}

BOOST_AUTO_TEST_CASE(unknown_paths_and_methods_are_told_apart) {
  coordinator_fixture service;
  BOOST_TEST(service.call("GET", "/healthz").body == R"({"status":"healthy"})");
  BOOST_TEST(service.call("GET", "/nothing").status == 404);
  BOOST_TEST(service.call("GET", "/nothing").body == R"({"detail":"Not Found"})");
  BOOST_TEST(service.call("GET", "/quota/a%2Fb").status == 404);
  const raw_answer wrong = service.call("POST", "/healthz", "{}");
  BOOST_TEST(wrong.status == 405);
  BOOST_TEST(wrong.header("allow") == "GET");
  BOOST_TEST(wrong.body == R"({"detail":"Method Not Allowed"})");
}

BOOST_AUTO_TEST_CASE(quotas_are_kept_in_whole_bytes) {
  coordinator_fixture service;
  BOOST_TEST(has(service.call("PUT", "/quota/_default", R"({"limit_gb":"1e-9"})"), R"("cache_salt":"")"));
  BOOST_TEST(has(service.call("GET", "/quota/_default"), R"("quota_exists":true)"));
  BOOST_TEST(service.call("PUT", "/quota/s", R"({"limit_gb":-1})").status == 422);
  BOOST_TEST(service.call("PUT", "/quota/s", R"({"limit_gb":1,"tier":"l1"})").status == 400);
  for (const char* limit : {"NaN", "Infinity", "1e300"}) {
    const raw_answer refused = service.call("PUT", "/quota/s", R"({"limit_gb":)" + std::string(limit) + "}");
    BOOST_TEST(refused.status == 400, limit);
    BOOST_TEST(refused.body == R"({"error":"invalid quota limit"})", limit);
  }
  BOOST_TEST(service.call("GET", "/quota?tier=").status == 422);
  BOOST_TEST(has(service.call("DELETE", "/quota/_default"), R"("status":"removed")"));
  BOOST_TEST(has(service.call("DELETE", "/quota/_default"), R"("status":"not_found")"));
}

BOOST_AUTO_TEST_CASE(the_default_limit_can_be_lifted) {
  coordinator_fixture service;
  BOOST_TEST(service.call("PUT", "/quota/config", R"({"default_limit_gb":null})").body == R"({"default_limit_gb":null})");
  BOOST_TEST(service.call("GET", "/quota/config").body == R"({"default_limit_gb":null})");
}

BOOST_AUTO_TEST_CASE(events_change_usage_and_a_bad_one_changes_nothing) {
  coordinator_fixture service;
  const std::string two = event("store", "AA", "1073741824") + "," + event("store", "bb", "1073741824", "t");
  BOOST_TEST(service.call("POST", "/quota/events", batch("1", two)).body == R"({"recorded":2})");
  const raw_answer all = service.call("GET", "/quota");
  BOOST_TEST(has(all, R"("cache_salt":"s")"));
  BOOST_TEST(all.body.find(R"("cache_salt":"s")") < all.body.find(R"("cache_salt":"t")"));
  const raw_answer refused =
      service.call("POST", "/quota/events", batch("2", event("delete", "aa", "0") + "," + event("store", "abc", "1")));
  BOOST_TEST(refused.status == 422);
  BOOST_TEST(has(refused, R"("loc":["body","events",1,"key"])"));
  BOOST_TEST(service.call("GET", "/quota").body == all.body);
  BOOST_TEST(service.call("POST", "/quota/events", batch("2", event("delete", "aa", "0"))).status == 200);
  BOOST_TEST(!has(service.call("GET", "/quota"), R"("cache_salt":"s")"));
  BOOST_TEST(has(service.call("GET", "/metrics"), "kvc_coordinator_batches_total 2\n"));
}

BOOST_AUTO_TEST_CASE(a_batch_with_an_incarnation_counts_once) {
  coordinator_fixture service;
  const std::string body = R"({"batches":[{"instance_id":"a","incarnation":7,"seq":1,"event_type":"store","tier":"l2","entries":[
    {"key":{"chunk_hash_hex":"aa","model_name":"m","kv_rank":0},"size_bytes":5}]}]})";
  BOOST_TEST(service.call("POST", "/events", body).body == R"({"applied":1,"duplicates":0,"stale":0})");
  BOOST_TEST(service.call("POST", "/directory/events", body).body == R"({"applied":0,"duplicates":1,"stale":0})");
}

BOOST_AUTO_TEST_CASE(published_chunks_are_found_at_any_offset) {
  coordinator_fixture service;
  BOOST_TEST(service
                 .call("POST", "/blend/fingerprints",
                       R"({"ranges":[{"model_scope":"m","tokens":[1,2,3,4],"object_keys":["ab"],"old_st_base":8}]})")
                 .body == R"({"inserted":1})");
  // 9, 1, 2, 3, 4 as little-endian u32.
  BOOST_TEST(service.call("POST", "/blend/match", R"({"model_scope":"m","tokens_b64":"CQAAAAEAAAACAAAAAwAAAAQAAAA="})").body ==
             R"({"matches":[{"object_key":"ab","old_st":8,"cur_st":1}]})");
  BOOST_TEST(service.call("POST", "/blend/match", R"({"model_scope":"m","tokens_b64":"CQA"})").status == 422);
  BOOST_TEST(service.call("DELETE", "/blend/fingerprints", R"({"object_keys":["ab"]})").body == R"({"removed":1})");
}

BOOST_AUTO_TEST_CASE(a_prefetch_needs_a_server_that_is_there) {
  coordinator_fixture service;
  const std::string wanted = R"({"instance_id":"a","model_name":"m","world_size":1,"token_ids":[1]})";
  const raw_answer unknown = service.call("POST", "/cache/prefetches", wanted);
  BOOST_TEST(unknown.status == 404);
  BOOST_TEST(unknown.body == R"({"detail":"no MP server registered with instance_id='a'"})");
  service.call("POST", "/instances", R"({"ip":"127.0.0.1","http_port":1,"instance_id":"a"})");
  BOOST_TEST(service.call("POST", "/cache/prefetches", wanted).status == 502);
  BOOST_TEST(service.call("GET", "/cache/prefetches/a/1").status == 502);
}

BOOST_AUTO_TEST_SUITE_END()
