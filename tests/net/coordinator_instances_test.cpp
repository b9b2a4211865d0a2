// Membership of MP servers over sockets: rows of the specification.
#include <chrono>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/test/unit_test.hpp>

#include "tests/support/net/coordinator_fixture.hpp"

BOOST_AUTO_TEST_SUITE(coordinator_instances)

namespace {

using kvc::test::coordinator_fixture;
using kvc::test::coordinator_options;
using kvc::test::json_of;
using kvc::test::raw_answer;
using kvc::test::raw_client;

/// The fault a 422 tells about, when it tells one only.
struct fault_row {
  const char* body;
  const char* fault;  ///< as JSON, without `input` where it is long
};

}  // namespace

BOOST_AUTO_TEST_CASE(registers_beats_and_leaves) {
  // What every MP server does in its life.
  coordinator_fixture service;

  const raw_answer joined = service.call("POST", "/instances", R"({"ip":" 10.0.0.5 ","http_port":8080,"instance_id":" a b "})");
  BOOST_TEST(joined.status == 200);
  BOOST_TEST(joined.header("content-type") == "application/json");
  BOOST_TEST(joined.body == R"({"instance_id":"a b","re_registered":false})");

  const raw_answer beat = service.call("PUT", "/instances/a%20b/heartbeat");
  BOOST_TEST(beat.status == 200);
  BOOST_TEST(beat.body == R"({"instance_id":"a b"})");

  const raw_answer again = service.call("POST", "/instances", R"({"ip":"x","http_port":1,"instance_id":"a b"})");
  BOOST_TEST(again.body == R"({"instance_id":"a b","re_registered":true})");

  for (int i = 0; i < 2; ++i) {  // the second time there is nobody
    const raw_answer left = service.call("DELETE", "/instances/a%20b");
    BOOST_TEST(left.status == 204);
    BOOST_TEST(left.body == "");
    BOOST_TEST(left.headers.count("content-length") == 0U);
    BOOST_TEST(left.headers.count("content-type") == 0U);
  }

  const raw_answer unknown = service.call("PUT", "/instances/a%20b/heartbeat");
  BOOST_TEST(unknown.status == 404);
  BOOST_TEST(unknown.body == R"({"error":"unknown instance ID; re-register"})");
}

BOOST_AUTO_TEST_CASE(a_server_without_an_id_gets_one) {
  coordinator_fixture service;
  for (const char* body : {R"({"ip":"x","http_port":1})", R"({"ip":"x","http_port":1,"instance_id":"  "})"}) {
    const std::string id(json_of(service.call("POST", "/instances", body)).at("instance_id").as_string());
    BOOST_TEST(id.size() == 35U, body);
    BOOST_TEST(id.starts_with("mp-"));
    BOOST_TEST(id.find_first_not_of("0123456789abcdef", 3) == std::string::npos);
    BOOST_TEST(id[15] == '4', "the version of a random UUID");
    BOOST_TEST(service.call("PUT", "/instances/" + id + "/heartbeat").status == 200);
  }
}

BOOST_AUTO_TEST_CASE(lists_in_order_of_first_registration) {
  // A re-registration keeps its place; who left and came back is the last.
  coordinator_fixture service;
  BOOST_TEST(service.call("GET", "/instances").body == R"({"instances":[]})");
  for (const char* id : {"a", "b", "c", "b"}) service.join(id, 80);
  service.call("DELETE", "/instances/a");
  service.join("a", 80);

  std::vector<std::string> ids;
  const auto listed = json_of(service.call("GET", "/instances"));
  for (const auto& each : listed.at("instances").as_array()) ids.emplace_back(each.at("instance_id").as_string());
  BOOST_TEST(ids == (std::vector<std::string>{"b", "c", "a"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_long_list_is_sent_in_pieces) {
  // Servers say what they like about themselves: what nobody has taken yet must not lie in memory once for each that asks.
  coordinator_fixture service;
  std::vector<std::string> expected;
  const std::string zone(60'000, 'z');
  for (int i = 0; i < 40; ++i) {
    expected.push_back("mp " + std::to_string(i));
    service.call("POST", "/instances",
                 R"({"ip":"h","http_port":1,"instance_id":")" + expected.back() + R"(","metadata":{"zone":")" + zone + "\"}}");
  }

  const raw_answer list = service.call("GET", "/instances");

  BOOST_TEST(list.status == 200);
  BOOST_TEST(list.header("content-type") == "application/json");
  BOOST_TEST(list.header("transfer-encoding") == "chunked");
  std::vector<std::string> ids;
  const auto document = json_of(list);
  for (const auto& each : document.at("instances").as_array()) {
    ids.emplace_back(each.at("instance_id").as_string());
    BOOST_TEST((each.at("metadata").at("zone").as_string() == zone));
  }
  BOOST_TEST(ids == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(shows_what_servers_say_in_the_order_clients_know) {
  coordinator_fixture service;
  const auto before = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  service.call("POST", "/instances",
               R"({"ip":"h","http_port":"8080","instance_id":"a","metadata":{"z":"1","k":"1","k":"2"},"p2p_advertised_url":" tcp://p ",)"
               R"("mq_port":7.0,"unknown":{"is":["ignored"]}})");
  service.call("POST", "/instances", R"({"ip":"h","http_port":true,"instance_id":"b"})");

  const raw_answer listed = service.call("GET", "/instances");
  const auto document = json_of(listed);
  const auto& first = document.at("instances").at(0).as_object();
  std::string order;
  for (const auto& member : first) order += std::string(member.key()) + " ";
  BOOST_TEST(order == "instance_id ip http_port registration_time metadata p2p_advertised_url mq_port ");
  BOOST_TEST(first.at("http_port").as_int64() == 8080);
  BOOST_TEST(first.at("mq_port").as_int64() == 7);
  BOOST_TEST(first.at("p2p_advertised_url").as_string() == "tcp://p");
  BOOST_TEST((first.at("metadata") == boost::json::parse(R"({"z":"1","k":"2"})")));
  BOOST_TEST(first.at("registration_time").to_number<double>() >= before);
  BOOST_TEST(first.at("registration_time").to_number<double>() < before + 60);
  const auto& second = document.at("instances").at(1).as_object();
  BOOST_TEST(second.at("http_port").as_int64() == 1);
  BOOST_TEST((second.at("metadata") == boost::json::object()));
  BOOST_TEST(second.at("p2p_advertised_url").as_string() == "");
  BOOST_TEST(second.at("mq_port").as_int64() == 0);
}

BOOST_AUTO_TEST_CASE(a_registration_again_replaces_everything) {
  coordinator_fixture service;
  service.call("POST", "/instances", R"({"ip":"h","http_port":1,"instance_id":"a","metadata":{"k":"v"},"mq_port":9})");
  service.call("POST", "/instances", R"({"ip":"i","http_port":2,"instance_id":"a"})");

  const auto only = json_of(service.call("GET", "/instances")).at("instances").at(0);
  BOOST_TEST(only.at("ip").as_string() == "i");
  BOOST_TEST(only.at("metadata").as_object().empty());
  BOOST_TEST(only.at("mq_port").as_int64() == 0);
}

BOOST_AUTO_TEST_CASE(tells_what_is_wrong_with_a_field) {
  // Clients of the other service show these to people, so type, place, sentence, value and bound are theirs.
  const fault_row rows[] = {
      {R"({"ip":"x","http_port":0})",
       R"({"type":"greater_than_equal","loc":["body","http_port"],"msg":"Input should be greater than or equal to 1","input":0,"ctx":{"ge":1}})"},
      {R"({"ip":"x","http_port":65536})",
       R"({"type":"less_than_equal","loc":["body","http_port"],"msg":"Input should be less than or equal to 65535","input":65536,"ctx":{"le":65535}})"},
      {R"({"ip":"x","http_port":9090.5})",
       R"({"type":"int_from_float","loc":["body","http_port"],"msg":"Input should be a valid integer, got a number with a fractional part","input":9090.5})"},
      {R"({"ip":"x","http_port":"nope"})",
       R"({"type":"int_parsing","loc":["body","http_port"],"msg":"Input should be a valid integer, unable to parse string as an integer","input":"nope"})"},
      {R"({"ip":"x","http_port":null})",
       R"({"type":"int_type","loc":["body","http_port"],"msg":"Input should be a valid integer","input":null})"},
      {R"({"ip":"x","http_port":[1]})",
       R"({"type":"int_type","loc":["body","http_port"],"msg":"Input should be a valid integer","input":[1]})"},
      {R"({"ip":"x"})", R"({"type":"missing","loc":["body","http_port"],"msg":"Field required","input":{"ip":"x"}})"},
      {R"({"http_port":1})", R"({"type":"missing","loc":["body","ip"],"msg":"Field required","input":{"http_port":1}})"},
      {R"({"ip":5,"http_port":1})", R"({"type":"string_type","loc":["body","ip"],"msg":"Input should be a valid string","input":5})"},
      {R"({"ip":null,"http_port":1})", R"({"type":"string_type","loc":["body","ip"],"msg":"Input should be a valid string","input":null})"},
      {R"({"ip":" ","http_port":1})",
       R"({"type":"string_too_short","loc":["body","ip"],"msg":"String should have at least 1 character","input":" ","ctx":{"min_length":1}})"},
      {R"({"ip":"x","http_port":1,"instance_id":7})",
       R"({"type":"string_type","loc":["body","instance_id"],"msg":"Input should be a valid string","input":7})"},
      {R"({"ip":"x","http_port":1,"metadata":[]})",
       R"({"type":"dict_type","loc":["body","metadata"],"msg":"Input should be a valid dictionary","input":[]})"},
      {R"({"ip":"x","http_port":1,"metadata":{"k":1}})",
       R"({"type":"string_type","loc":["body","metadata","k"],"msg":"Input should be a valid string","input":1})"},
      {R"({"ip":"x","http_port":1,"mq_port":-1})",
       R"({"type":"greater_than_equal","loc":["body","mq_port"],"msg":"Input should be greater than or equal to 0","input":-1,"ctx":{"ge":0}})"},
      {R"([])",
       R"({"type":"model_attributes_type","loc":["body"],"msg":"Input should be a valid dictionary or object to extract fields from","input":[]})"},
      {R"("x")",
       R"({"type":"model_attributes_type","loc":["body"],"msg":"Input should be a valid dictionary or object to extract fields from","input":"x"})"},
      {"", R"({"type":"missing","loc":["body"],"msg":"Field required","input":null})"},
  };
  coordinator_fixture service;

  for (const fault_row& each : rows) {
    const raw_answer refused = service.call("POST", "/instances", each.body);
    BOOST_TEST(refused.status == 422, each.body);
    BOOST_TEST((json_of(refused) == boost::json::value{{"detail", {boost::json::parse(each.fault)}}}), refused.body);
  }
  BOOST_TEST(service.call("GET", "/instances").body == R"({"instances":[]})", "a refused request changes nothing");
}

BOOST_AUTO_TEST_CASE(tells_every_fault_in_the_order_of_the_fields) {
  coordinator_fixture service;
  const auto refused =
      json_of(service.call("POST", "/instances", R"({"mq_port":1.5,"metadata":1,"instance_id":7,"http_port":70000,"ip":" "})"));
  std::string types;
  for (const auto& each : refused.at("detail").as_array()) types += std::string(each.at("type").as_string()) + " ";
  BOOST_TEST(types == "string_too_short less_than_equal string_type dict_type int_from_float ");
}

BOOST_AUTO_TEST_CASE(a_body_that_is_no_json_is_told_where) {
  coordinator_fixture service;
  const raw_answer refused = service.call("POST", "/instances", R"({"ip":"x",})");
  BOOST_TEST(refused.status == 422);
  const auto fault = json_of(refused).at("detail").at(0);
  BOOST_TEST(fault.at("type").as_string() == "json_invalid");
  BOOST_TEST(fault.at("loc").at(0).as_string() == "body");
  BOOST_TEST(fault.at("loc").at(1).is_int64());
  BOOST_TEST(fault.at("msg").as_string() == "JSON decode error");
  BOOST_TEST(fault.at("input").as_object().empty());
  BOOST_TEST(!fault.at("ctx").at("error").as_string().empty());
}

BOOST_AUTO_TEST_CASE(takes_json_under_any_content_type) {
  coordinator_fixture service;
  for (const char* type : {"application/json; charset=utf-8", "text/plain", "application/problem+json", "application/msgpack"}) {
    BOOST_TEST(service.call("POST", "/instances", R"({"ip":"x","http_port":1})", {{"Content-Type", type}}).status == 200, type);
  }
}

BOOST_AUTO_TEST_CASE(paths_and_methods) {
  // Codes and bodies of the framework that the clients know.
  coordinator_fixture service;
  service.join("a", 1);
  BOOST_TEST(service.call("GET", "/instances/").status == 200);
  BOOST_TEST(service.call("PUT", "/instances/a/heartbeat/").status == 200);
  for (const char* path : {"/instances/a/nothing", "/instances/a%2Fb/heartbeat", "/quota/a%2Fb", "/cache", "/blend"}) {
    const raw_answer unknown = service.call("GET", path);
    BOOST_TEST(unknown.status == 404, path);
    BOOST_TEST(unknown.body == R"({"detail":"Not Found"})", path);
  }
  struct wrong_method {
    const char* method;
    const char* path;
    const char* allowed;
  };
  for (const wrong_method& each : {wrong_method{"PATCH", "/instances", "POST"}, wrong_method{"HEAD", "/instances", "POST"},
                                   wrong_method{"GET", "/instances/a/heartbeat", "PUT"}, wrong_method{"GET", "/blend/match", "POST"}}) {
    raw_client client(service.port());
    client.send(raw_client::request(each.method, each.path));
    const bool is_head = std::string_view(each.method) == "HEAD";
    const raw_answer refused = client.receive(is_head);
    BOOST_TEST(refused.status == 405, each.path);
    BOOST_TEST(refused.header("allow") == each.allowed, each.path);
    if (!is_head) BOOST_TEST(refused.body == R"({"detail":"Method Not Allowed"})", each.path);
  }
}

BOOST_AUTO_TEST_CASE(a_silent_server_is_dropped_by_the_sweep) {
  // Strictly later than the timeout, and only at a sweep; a heartbeat, or a registration, starts the time anew.
  coordinator_options options;
  options.coordinator.instance_timeout = std::chrono::seconds(2);  // longer than a busy machine keeps the two last calls waiting
  options.coordinator.health_check_interval = std::chrono::milliseconds(50);
  coordinator_fixture service(options);
  service.join("silent", 1);
  service.join("beating", 1);

  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (service.metric("kvc_coordinator_timed_out_total") < 1 && std::chrono::steady_clock::now() < deadline) {
    BOOST_REQUIRE(service.call("PUT", "/instances/beating/heartbeat").status == 200);
  }

  BOOST_TEST(service.call("PUT", "/instances/silent/heartbeat").status == 404);
  BOOST_TEST(service.metric("kvc_coordinator_instances") == 1);
}

BOOST_AUTO_TEST_CASE(an_idle_connection_ends_after_the_keep_alive) {
  // Clients of the coordinator are told how long that is; other connections live by the server's own setting.
  coordinator_options options;
  options.coordinator.timeout_keep_alive = std::chrono::seconds(1);
  coordinator_fixture service(options);
  raw_client beating(service.port());
  raw_client querying(service.port());
  BOOST_TEST(querying.ask("GET", "/services").status == 200);
  BOOST_TEST(beating.ask("GET", "/instances").status == 200);

  BOOST_TEST(beating.is_closed());
  BOOST_TEST(querying.ask("GET", "/services").status == 200);
}

BOOST_AUTO_TEST_CASE(heartbeats_in_one_write_are_answered_in_order) {
  coordinator_fixture service;
  service.join("a", 1);
  raw_client client(service.port());
  client.send(raw_client::request("PUT", "/instances/a/heartbeat") + raw_client::request("PUT", "/instances/b/heartbeat") +
              raw_client::request("GET", "/healthz"));
  BOOST_TEST(client.receive().status == 200);
  BOOST_TEST(client.receive().status == 404);
  BOOST_TEST(client.receive().body == R"({"status":"healthy"})");
}

BOOST_AUTO_TEST_CASE(one_lane_answers_like_two) {
  // With one lane short requests are answered without a hop, by other code.
  coordinator_options options;
  options.lanes = 1;
  coordinator_fixture service(options);
  service.join("a", 1);
  BOOST_TEST(service.call("PUT", "/instances/a/heartbeat").status == 200);
  BOOST_TEST(service.call("POST", "/instances", "[]").status == 422);
  BOOST_TEST(service.call("PUT", "/quota/s", R"({"limit_gb":1})").status == 200);
  BOOST_TEST(service.call("POST", "/quota/events", kvc::test::batch_text(1, kvc::test::event_text("store", "aa", 1))).status == 200);
  BOOST_TEST(service.metric("kvc_coordinator_keys") == 1);
}

BOOST_AUTO_TEST_CASE(what_a_server_says_about_itself_is_bounded) {
  // All of it is in every list of servers.
  coordinator_fixture service;
  const auto join = [&](std::size_t bytes) {
    return service.call("POST", "/instances", R"({"ip":"x","http_port":1,"metadata":{"a":")" + std::string(bytes, 'x') + R"("}})");
  };
  BOOST_TEST(join(65'000).status == 200);
  const raw_answer refused = join(66'000);
  BOOST_TEST(refused.status == 422);
  BOOST_TEST(json_of(refused).at("detail").at(0).at("type").as_string() == "value_error");
}

BOOST_AUTO_TEST_CASE(metadata_told_twice_counts_once) {
  // Two values of one name were more than a server may say, and whatever came behind them was not read.
  coordinator_fixture service;
  const std::string twice = R"({"a":")" + std::string(40'000, 'x') + R"(","a":")" + std::string(40'000, 'y') + R"(","b":"z"})";
  BOOST_TEST(service.call("POST", "/instances", R"({"ip":"x","http_port":1,"metadata":)" + twice + "}").status == 200);
  const auto told = json_of(service.call("GET", "/instances")).at("instances").at(0).at("metadata").as_object();
  BOOST_TEST(told.size() == 2U);
  BOOST_TEST(told.at("a").as_string() == std::string(40'000, 'y'));
  BOOST_REQUIRE(told.contains("b"));
  BOOST_TEST(told.at("b").as_string() == "z");
}

BOOST_AUTO_TEST_CASE(members_nobody_knows_may_be_nested_deep) {
  coordinator_fixture service;
  const std::string deep = std::string(150, '[') + std::string(150, ']');
  BOOST_TEST(service.call("POST", "/instances", R"({"ip":"x","http_port":1,"more":)" + deep + "}").status == 200);
}

BOOST_AUTO_TEST_CASE(a_deeply_nested_value_at_fault_is_told_as_null) {
  // An answer is nested less deep than a body may be.
  coordinator_fixture service;
  for (const std::size_t depth : {std::size_t{24}, std::size_t{25}, std::size_t{28}, std::size_t{190}}) {
    const std::string deep = std::string(depth, '[') + std::string(depth, ']');
    const raw_answer refused = service.call("PUT", "/quota/a", R"({"limit_gb":)" + deep + "}");
    BOOST_TEST(refused.status == 422, depth);
    BOOST_TEST(json_of(refused).at("detail").at(0).at("input").is_null() == (depth > 24), depth);
    BOOST_TEST(service.call("POST", "/instances", R"({"ip":"x","more":)" + deep + "}").status == 422, depth);  // the body is at fault
  }
}

BOOST_AUTO_TEST_CASE(words_for_numbers_are_no_texts) {
  coordinator_fixture service;
  const raw_answer refused = service.call("POST", "/instances", R"({"ip":NaN,"http_port":Infinity,"instance_id":-Infinity})");
  BOOST_TEST(refused.status == 422);
  const auto told = json_of(refused);
  const auto& faults = told.at("detail").as_array();
  BOOST_TEST_REQUIRE(faults.size() == 3U);
  for (const auto& fault : faults) {
    const bool is_port = fault.at("loc").at(1).as_string() == "http_port";
    BOOST_TEST(fault.at("type").as_string() == (is_port ? "finite_number" : "string_type"));
  }
  BOOST_TEST(service.call("POST", "/instances", R"({NaN:1,"ip":"x","http_port":1})").status == 422);  // nor names
}

BOOST_AUTO_TEST_CASE(who_is_turned_away_for_now_is_told_when_to_come_back) {
  coordinator_fixture service;
  const auto reply = service.surface.refused_reply("/quota/events", {kvc::net::refusal_kind::overloaded, "too much at once"});
  BOOST_TEST_REQUIRE(reply.has_value());
  BOOST_TEST(reply->status == 503U);
  BOOST_TEST(reply->body == R"({"detail":"too much at once"})");
  BOOST_TEST_REQUIRE(reply->headers.size() == 1U);
  BOOST_TEST(reply->headers.front().first == "Retry-After");
}

BOOST_AUTO_TEST_CASE(an_encoded_slash_is_part_of_a_name) {
  coordinator_fixture service;
  BOOST_TEST(service.call("PUT", "/quota/a", R"({"limit_gb":1})").status == 200);
  BOOST_TEST(service.call("PUT", "/quota/a%2F", R"({"limit_gb":3})").status == 404);
  BOOST_TEST(json_of(service.call("GET", "/quota/a")).at("quota_limit_gb").to_number<double>() == 1);
}

BOOST_AUTO_TEST_SUITE_END()
