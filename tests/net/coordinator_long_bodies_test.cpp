// Bodies of every size get the same answers, and the long ones are read beside the lanes, so that none of them holds a heartbeat.
#include <cstddef>
#include <string>
#include <string_view>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/test/unit_test.hpp>

#include "net/coordinator_reading.hpp"
#include "tests/support/net/coordinator_fixture.hpp"
#include "tests/support/net/stub_mp_server.hpp"

BOOST_AUTO_TEST_SUITE(coordinator_long_bodies)

namespace {

using namespace kvc::test;
using kvc::net::coordinator_endpoint;

/// The same JSON in more bytes than are read in a turn of a lane.
std::string longer(std::string body, coordinator_endpoint asked) {
  return body + std::string(kvc::net::most_read_in_a_turn(asked), ' ');
}

double read_aside(coordinator_fixture& service) {
  return service.metric("kvc_coordinator_bodies_read_aside_total");
}

struct row {
  coordinator_endpoint asked;
  const char* method;
  const char* path;
  std::string body;
};

const std::string store_of_a =
    R"({"batches":[{"instance_id":"a","incarnation":1,"seq":1,"event_type":"store","tier":"l2","entries":[{"key":)" + key_text("ab") +
    R"(,"size_bytes":5}]}]})";

}  // namespace

BOOST_AUTO_TEST_CASE(every_route_answers_a_long_body_as_a_short_one) {
  const row rows[] = {
      {coordinator_endpoint::add_instance, "POST", "/instances", R"({"ip":"127.0.0.1","http_port":1,"instance_id":"a"})"},
      {coordinator_endpoint::add_instance, "POST", "/instances", R"({"ip":"127.0.0.1","http_port":0})"},
      {coordinator_endpoint::set_quota, "PUT", "/quota/s", R"({"limit_gb":2})"},
      {coordinator_endpoint::usage_events, "POST", "/quota/events", batch_text(1, event_text("store", "ab", 7))},
      {coordinator_endpoint::usage_events, "POST", "/quota/events", batch_text(1, event_text("store", "a", 7))},
      {coordinator_endpoint::usage_events, "POST", "/quota/events", R"({"instance_id":"a","seq":1,"events":[],"tier":"l1"})"},
      {coordinator_endpoint::event_batches, "POST", "/events", store_of_a},
      {coordinator_endpoint::event_batches, "POST", "/directory/events", R"({"batches":[{}]})"},
      {coordinator_endpoint::publish_chunks, "POST", "/blend/fingerprints",
       R"({"ranges":[{"model_scope":"m","tokens":[1,2,3,4],"object_keys":["ab"],"old_st_base":8}]})"},
      {coordinator_endpoint::publish_chunks, "POST", "/blend/fingerprints", R"({"ranges":[{"tokens":[]}]})"},
      {coordinator_endpoint::match_chunks, "POST", "/blend/match", R"({"model_scope":"m","tokens_b64":"AQAAAAIAAAADAAAABAAAAA=="})"},
      {coordinator_endpoint::match_chunks, "POST", "/blend/match", R"({"model_scope":"m","tokens_b64":"A"})"},
      {coordinator_endpoint::remove_chunks, "DELETE", "/blend/fingerprints", R"({"object_keys":["ab"]})"},
      {coordinator_endpoint::submit_prefetch, "POST", "/cache/prefetches", R"({"instance_id":"no","model_name":"m","world_size":1})"},
      {coordinator_endpoint::submit_prefetch, "POST", "/cache/prefetches", R"({"instance_id":"no"})"},
      {coordinator_endpoint::usage_events, "POST", "/quota/events", "{"},
  };
  for (const std::size_t lanes : {1U, 2U}) {
    coordinator_options options;
    options.lanes = lanes;
    coordinator_fixture of_short(options);
    coordinator_fixture of_long(options);
    for (const row& each : rows) {
      BOOST_TEST_CONTEXT(each.method << " " << each.path << " " << each.body << " on " << lanes << " lanes") {
        const double before = read_aside(of_long);
        const raw_answer expected = of_short.call(each.method, each.path, each.body);
        const raw_answer answer = of_long.call(each.method, each.path, longer(each.body, each.asked));
        BOOST_TEST(answer.status == expected.status);
        if (each.body != "{") BOOST_TEST(answer.body == expected.body);  // where JSON breaks off is told as an offset
        BOOST_TEST(read_aside(of_long) == before + 1);
      }
    }
    BOOST_TEST(read_aside(of_short) == 0);
    BOOST_TEST(of_long.call("GET", "/quota").body == of_short.call("GET", "/quota").body);
  }
}

BOOST_AUTO_TEST_CASE(a_short_batch_is_answered_in_one_go_and_a_long_one_in_slices) {
  // Whichever way a batch goes, all of it counts, in its order.
  coordinator_options options;
  options.lanes = 1;
  options.coordinator.blend_max_chunks = 100'000;
  coordinator_fixture service(options);
  std::string tokens;
  std::string keys;
  std::size_t published = 0;
  for (const std::size_t chunks : {1U, 900U, 5'000U, 40'000U}) {
    tokens.clear();
    keys.clear();
    for (std::size_t i = 0; i < chunks; ++i) {
      const std::string number = std::to_string(published + i);
      tokens += (i == 0 ? "" : ",") + number + ",1,2,3";
      keys += (i == 0 ? "\"k" : ",\"k") + number + "\"";
    }
    published += chunks;
    const std::string ranges = R"({"model_scope":"m","tokens":[)" + tokens + R"(],"object_keys":[)" + keys + R"(],"old_st_base":0})";
    const std::string empty = R"({"model_scope":"m","tokens":[9],"object_keys":["extra"],"old_st_base":0})";
    const raw_answer answer = service.call("POST", "/blend/fingerprints", R"({"ranges":[)" + empty + "," + ranges + "," + ranges + "]}");
    BOOST_TEST(answer.body == R"({"inserted":)" + std::to_string(chunks) + "}");
  }
  BOOST_TEST(service.metric("kvc_coordinator_blend_chunks") == static_cast<double>(published));
}

BOOST_AUTO_TEST_CASE(what_a_body_says_is_found_out_where_it_is_read) {
  // Beside the lanes, if it is long: to look for six names among four million members takes a lane half a second.
  using enum coordinator_endpoint;
  for (const coordinator_endpoint asked : {add_instance, set_quota, set_default_quota, usage_events, event_batches, remove_chunks,
                                           publish_chunks, match_chunks, submit_prefetch}) {
    kvc::net::coordinator_reading read;
    const auto refused = kvc::net::read_coordinator_body(asked, "[]", read);
    BOOST_TEST_CONTEXT(static_cast<int>(asked)) {
      BOOST_REQUIRE(refused.has_value());
      BOOST_TEST(refused->status == 422U);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_registration_that_says_too_much_is_answered_in_bounded_words) {
  // Whether what is too long is right or wrong.
  coordinator_fixture service;
  const std::string much(1'000'000, 'x');
  for (const std::string& said : {R"("metadata":{")" + much + R"(":1})", R"("metadata":{")" + much + R"(":"a"})",
                                  R"("metadata":{"a":")" + much + R"("})", R"("p2p_advertised_url":")" + much + "\""}) {
    const raw_answer refused = service.call("POST", "/instances", R"({"ip":"x","http_port":1,)" + said + "}");
    BOOST_TEST(refused.status == 422);
    BOOST_TEST(refused.body.size() < 1'000U);
    BOOST_TEST(json_of(refused).at("detail").at(0).at("type").as_string() == "value_error");
  }
}

BOOST_AUTO_TEST_SUITE_END()
