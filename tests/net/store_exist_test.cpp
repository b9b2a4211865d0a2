#include <string>

#include <boost/test/unit_test.hpp>

#include "tests/support/net/store_fixture.hpp"

namespace kvc::test {
namespace {

using enum core::replica_kind;

struct probe_fixture : store_fixture {
  probe_fixture() { open_pool(); }
};

std::string many_keys(std::size_t count) {
  std::string body = R"({"keys":["a")";
  for (std::size_t i = 1; i < count; ++i) body += ",\"k\"";
  return body + "]}";
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(store_exist, probe_fixture)

BOOST_AUTO_TEST_CASE(what_a_store_publishes_exists_until_it_says_otherwise) {
  publish({listed("a", {memory}), listed("b", {local_disk}), listed("c", {disk})});
  BOOST_TEST(becomes(R"({"keys":["a","b","c","d"]})", R"({"exists":[1,1,1,0]})"));
  BOOST_TEST(exist(R"({"key":"a"})") == R"({"exists":1})");
  BOOST_TEST(exist(R"({"key":"d"})") == R"({"exists":0})");

  publish({listed("a", {})});
  BOOST_TEST(becomes(R"({"keys":["a","b"]})", R"({"exists":[0,1]})"));
}

BOOST_AUTO_TEST_CASE(a_store_event_without_replicas_ends_an_object_too) {
  // It carries the full list, as an update does.
  const auto told = [](const std::string& key, std::vector<core::replica_kind> kinds) {
    core::event made = listed(key, std::move(kinds));
    std::get<core::object_event>(made).what = core::object_event::change::stored;
    return made;
  };
  publish({told("a", {memory}), told("b", {memory})});
  BOOST_REQUIRE(becomes(R"({"keys":["a","b"]})", R"({"exists":[1,1]})"));
  publish({told("a", {}), told("c", {}), told("d", {memory})});
  BOOST_REQUIRE(becomes(R"({"key":"d"})", R"({"exists":1})"));
  BOOST_TEST(exist(R"({"keys":["a","b","c"]})") == R"({"exists":[0,1,0]})");
}

BOOST_AUTO_TEST_CASE(a_clear_of_everything_leaves_nothing) {
  publish({listed("a", {memory}), listed("b", {local_disk})});
  BOOST_REQUIRE(becomes(R"({"keys":["a","b"]})", R"({"exists":[1,1]})"));
  publish({core::cleared_event()});

  BOOST_TEST(becomes(R"({"keys":["a","b"]})", R"({"exists":[0,0]})"));
}

BOOST_AUTO_TEST_CASE(envelopes_tell_objects_medium_by_medium) {
  core::stored_event stored;
  stored.scope.object_key = "12345";
  stored.scope.medium = core::medium_id::cpu;
  stored.hashes = {core::engine_hash{12345}};
  core::stored_event on_disk = stored;
  on_disk.scope.medium = core::medium_id::disk;
  publish({stored, on_disk}, net::event_form::mooncake_master);
  BOOST_TEST(becomes(R"({"key":"12345"})", R"({"exists":1})"));
  BOOST_TEST(metric(R"(kvc_store_objects{medium="memory"})") == 1);
  BOOST_TEST(metric(R"(kvc_store_objects{medium="local_disk"})") == 1);

  core::removed_event removed;
  removed.scope = stored.scope;
  removed.hashes = stored.hashes;
  publish({removed}, net::event_form::mooncake_master);  // one removal for all of them
  BOOST_TEST(becomes(R"({"key":"12345"})", R"({"exists":0})"));
}

BOOST_AUTO_TEST_CASE(bad_keys_are_errors_of_their_own) {
  publish({listed("a", {memory})});
  BOOST_REQUIRE(becomes(R"({"key":"a"})", R"({"exists":1})"));

  BOOST_TEST(exist("{\"keys\":[\"a\",\"\",\"\xFF\",\"" + std::string(1'025, 'k') + "\",7,null,\"a\\u0000b\"]}") ==
             R"({"exists":[1,-600,-600,-600,-600,-600,-600]})");
  BOOST_TEST(exist("{\"key\":\"\xC3\xA9\"}") == R"({"exists":0})");
  // Half a character is what some clients write for a byte that is no UTF-8; a whole one, and a backslash before a u, are text.
  BOOST_TEST(exist(R"({"keys":["a","k\udcff","\ud83dx","\uD83D\uDE00","\\udcff","\ud83d"]})") == R"({"exists":[1,-600,-600,0,0,-600]})");
  // Whatever stands behind it, and also where it is the only one.
  for (const char* half : {R"(\ud83d)", R"(\ud83dx)", R"(\ud83d\n)", R"(\ud83d\u0061)", R"(\ud83d\ud83d)", R"(\udcff)"}) {
    BOOST_TEST(exist(std::string(R"({"keys":["a",")") + half + "\"]}") == R"({"exists":[1,-600]})", half);
    BOOST_TEST(exist(std::string(R"({"key":")") + half + "\"}") == R"({"exists":-600})", half);
  }
  BOOST_TEST(exist(R"({"keys":["a","\ud83d"],})").starts_with("400 "));  // other faults are faults
  BOOST_TEST(exist(R"({"key":"\u0061"})") == R"({"exists":1})");         // an escaped letter is a letter
}

BOOST_AUTO_TEST_CASE(backends_and_tenants_are_told_apart) {
  publish({listed("a", {memory})});
  BOOST_REQUIRE(becomes(R"({"key":"a","backend_id":"store-1"})", R"({"exists":1})"));

  BOOST_TEST(exist(R"({"key":"a","backend_id":"store-2"})") == R"({"exists":-2000})");
  BOOST_TEST(exist(R"({"key":"a","tenant_id":"ada"})") == R"({"exists":0})");
  BOOST_TEST(exist(R"({"key":"a","tenant_id":"default","backend_id":"store-1"})") == R"({"exists":1})");
}

BOOST_AUTO_TEST_CASE(requests_that_make_no_sense_are_told_why) {
  BOOST_TEST(exist("{}").starts_with("400 "));
  BOOST_TEST(exist(R"({"key":"a","keys":["a"]})").starts_with("400 "));
  BOOST_TEST(exist(R"({"keys":"a"})").find(R"("field":"keys")") != std::string::npos);
  BOOST_TEST(exist(R"({"key":"a","wait_ms":-1})").find(R"("field":"wait_ms")") != std::string::npos);
  BOOST_TEST(exist(R"({"key":"a","prefetch":1})").find(R"("field":"prefetch")") != std::string::npos);
  BOOST_TEST(exist("nonsense").starts_with("400 "));
  BOOST_TEST(call("GET", "/exist").status == 405);
  BOOST_TEST(exist(R"({"keys":[]})") == R"({"exists":[]})");
}

BOOST_AUTO_TEST_CASE(a_million_keys_are_refused_and_as_many_as_may_be_are_not) {
  BOOST_TEST(exist(many_keys(16'384)).starts_with(R"({"exists":[0,0)"));
  const std::string refused = exist(many_keys(1'000'000));
  BOOST_TEST(refused.starts_with("400 "));
  BOOST_TEST(refused.find("more than 16384 keys") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(messagepack_is_understood_too) {
  publish({listed("a", {memory})});
  BOOST_REQUIRE(becomes(R"({"key":"a"})", R"({"exists":1})"));
  const std::string body = "\x81\xA4keys\x92\xA1\x61\xA1\x62";
  const raw_answer answer = ask(port(), "POST", "/exist", body, {{"Content-Type", "application/msgpack"}});

  BOOST_TEST(answer.status == 200);
  BOOST_TEST(answer.body == std::string("\x81\xA6"
                                        "exists\x92\x01\x00",
                                        11));
}

BOOST_AUTO_TEST_CASE(an_unregistered_store_leaves_nothing_behind) {
  publish({listed("a", {memory})});
  BOOST_REQUIRE(becomes(R"({"key":"a"})", R"({"exists":1})"));
  BOOST_REQUIRE(call("POST", "/unregister", R"({"instance_id":"pool"})").status == 200);

  BOOST_TEST(exist(R"({"key":"a"})") == R"({"exists":0})");
}

BOOST_AUTO_TEST_CASE(probes_are_counted_by_result) {
  publish({listed("a", {memory})});
  BOOST_REQUIRE(becomes(R"({"key":"a"})", R"({"exists":1})"));
  const double before = metric(R"(kvc_exist_total{result="missing"})");
  exist(R"({"keys":["a","b","c",""]})");

  BOOST_TEST(metric(R"(kvc_exist_total{result="missing"})") == before + 2);
  BOOST_TEST(metric(R"(kvc_exist_total{result="invalid_key"})") == 1);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kvc::test
