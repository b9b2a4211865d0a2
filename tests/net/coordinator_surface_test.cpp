// Both surfaces as one: on every port, with one page of metrics and one description, and who may use what.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/test/unit_test.hpp>

#include "net/coordinator_router.hpp"
#include "net/http_router.hpp"
#include "net/label_text.hpp"
#include "tests/support/net/coordinator_fixture.hpp"
#include "tests/support/net/promotion_fixture.hpp"
#include "tests/support/net/store_fixture.hpp"
#include "tests/support/net/stub_mp_server.hpp"

BOOST_AUTO_TEST_SUITE(coordinator_surface)

namespace {

using namespace kvc::test;

/// The members that a schema describes, those of the schemas it refers to included.
std::map<std::string, boost::json::value> members_of(const boost::json::value& schema, const boost::json::value& all) {
  std::map<std::string, boost::json::value> found;
  const auto& object = schema.as_object();
  if (object.contains("$ref")) {
    const std::string_view reference = object.at("$ref").as_string();
    return members_of(all.at(reference.substr(reference.rfind('/') + 1)), all);
  }
  if (object.contains("properties")) {
    for (const auto& [name, member] : object.at("properties").as_object()) found.emplace(name, member);
  }
  if (object.contains("allOf")) {
    for (const auto& each : object.at("allOf").as_array()) found.merge(members_of(each, all));
  }
  return found;
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_port_serves_both_surfaces) {
  coordinator_fixture service;
  for (const std::uint16_t port : service.server.ports()) {
    BOOST_TEST(ask(port, "GET", "/services").body == R"({"count":0,"services":[]})");
    BOOST_TEST(ask(port, "GET", "/instances").status == 200);
    BOOST_TEST(ask(port, "POST", "/query", R"({"model":"m","block_size":4,"token_ids":[]})").body == "{}");
    const std::string metrics = ask(port, "GET", "/metrics").body;
    BOOST_TEST(metrics.find("\nkvc_uptime_seconds ") != std::string::npos);
    BOOST_TEST(metrics.find("\nkvc_coordinator_instances 0\n") != std::string::npos);
  }
}

BOOST_AUTO_TEST_CASE(the_probe_is_the_same_in_both) {
  coordinator_fixture service;
  const raw_answer alive = service.call("GET", "/healthz");
  BOOST_TEST(alive.status == 200);
  BOOST_TEST(alive.body == R"({"status":"healthy"})");
  raw_client client(service.port());
  client.send(raw_client::request("HEAD", "/healthz"));
  const raw_answer head = client.receive(true);
  BOOST_TEST(head.status == 405);
  BOOST_TEST(head.header("allow") == "GET");
  const raw_answer post = client.ask("POST", "/healthz", "{}");
  BOOST_TEST(post.status == 405);
  BOOST_TEST(json_of(post).at("detail").as_string() == "Method Not Allowed");
  BOOST_TEST(json_of(post).at("reason").as_string() == "unsupported");
}

BOOST_AUTO_TEST_CASE(an_unknown_path_is_told_in_both_ways) {
  // It belongs to neither surface, so clients of both find what they look for.
  coordinator_fixture service;
  const raw_answer unknown = service.call("GET", "/nothing");
  BOOST_TEST(unknown.status == 404);
  BOOST_TEST(json_of(unknown).at("detail").as_string() == "Not Found");
  BOOST_TEST(json_of(unknown).at("reason").as_string() == "unsupported");
  BOOST_TEST(json_of(unknown).at("error").is_string());
}

BOOST_AUTO_TEST_CASE(the_description_has_every_route_of_both) {
  coordinator_fixture service;
  const auto document = json_of(service.call("GET", "/openapi.json"));
  const auto& paths = document.at("paths").as_object();
  const auto has = [&](std::string_view path, std::string_view method) {
    std::string lower;
    for (const char each : method) lower += static_cast<char>(each | 0x20);
    return paths.contains(path) && paths.at(path).as_object().contains(lower);
  };
  for (const auto& each : kvc::net::coordinator_routes()) BOOST_TEST(has(each.path, each.method), each.path);
  for (const auto& each : kvc::net::all_routes()) BOOST_TEST(has(each.path, each.method), each.path);

  // Every schema that is referred to is there.
  const std::string text = boost::json::serialize(document);
  constexpr std::string_view reference = "#/components/schemas/";
  const auto& schemas = document.at("components").at("schemas").as_object();
  for (std::size_t at = text.find(reference); at != std::string::npos; at = text.find(reference, at + 1)) {
    const std::size_t from = at + reference.size();
    BOOST_TEST(schemas.contains(text.substr(from, text.find('"', from) - from)), text.substr(from, 40));
  }
}

BOOST_AUTO_TEST_CASE(the_description_promises_no_form_that_is_not_sent) {
  // A generated client asks for one of the types it is told of, and reads what comes as that.
  store_fixture service;
  service.open_pool();  // something to dump
  const auto document = json_of(service.call("GET", "/openapi.json"));
  std::size_t seen = 0;
  for (const auto& [path, methods] : document.at("paths").as_object()) {
    const std::string_view target = path;
    if (!methods.as_object().contains("get") || target.find('{') != std::string_view::npos) continue;
    for (const auto& [type, schema] : methods.at("get").at("responses").at("200").at("content").as_object()) {
      const raw_answer answer = ask(service.port(), "GET", target, {}, {{"Accept", std::string(type)}});
      BOOST_TEST((answer.status == 200 || answer.status == 503), target);  // of readiness, which is the report it is for 200
      const std::string sent = answer.header("content-type");
      BOOST_TEST(sent.substr(0, sent.find(';')) == std::string(type), target);
      ++seen;
    }
  }
  BOOST_TEST(seen > 20U);
}

BOOST_AUTO_TEST_CASE(the_description_tells_the_bounds_of_numbers) {
  // A generated client checks what it sends by the description, and is refused by the server.
  store_fixture service;
  const auto document = json_of(service.call("GET", "/openapi.json"));
  const auto& schemas = document.at("components").at("schemas");
  const std::vector<std::pair<std::string, std::string>> requests{
      {"/query", R"({"model":"m","block_size":4,"token_ids":[]})"},
      {"/query_by_hash", R"({"model":"m","block_size":4,"seq_hashes":[]})"},
      {"/register", R"({"endpoint":"tcp://a:1","type":"Mooncake","modelname":"m","instance_id":"i","block_size":4})"},
      {"/unregister", R"({"instance_id":"i"})"},
      {"/exist", R"({"key":"a"})"},
      {"/stores", R"({"backend_id":"b","type":"lmcache","url":"http://a"})"},
  };
  std::size_t seen = 0;
  for (const auto& [path, body] : requests) {
    const auto& asked = document.at("paths").at(path).at("post").at("requestBody").at("content").at("application/json").at("schema");
    for (const auto& [name, member] : members_of(asked, schemas)) {
      const std::string type = boost::json::serialize(member.at("type"));
      if (type.find("integer") == std::string::npos || type.find("string") != std::string::npos) continue;
      auto wrong = boost::json::parse(body);
      wrong.as_object().insert_or_assign(name, -1);
      const std::string why = service.call("POST", path, boost::json::serialize(wrong)).body;
      const auto told = [&described = member.as_object()](const char* bound) {
        return described.contains(bound) ? std::to_string(described.at(bound).to_number<std::uint64_t>()) : "nothing";
      };
      BOOST_TEST(why.find(name + " must be between " + told("minimum") + " and ") != std::string::npos, why);
      if (why.find(" and 18446744073709551615\"") != std::string::npos) continue;  // no bound but that of the type
      BOOST_TEST(why.find(" and " + told("maximum") + "\"") != std::string::npos, why);
      ++seen;
    }
  }
  BOOST_TEST(seen == 10U);
  // What tells partitions apart in queries does so in registrations.
  const auto& registration = schemas.at("Registration").at("properties").as_object();
  for (const char* name : {"lora_name", "lora_id", "tenant_id", "block_size"}) BOOST_TEST(registration.contains(name), name);
}

BOOST_AUTO_TEST_CASE(the_description_tells_what_a_webhook_is_sent_and_may_answer) {
  // Who writes one has nothing else to go by.
  store_fixture service;
  const auto document = json_of(service.call("GET", "/openapi.json"));
  const auto& schemas = document.at("components").at("schemas");
  const auto& told = document.at("webhooks").at("promote").at("post");
  const auto sent = members_of(told.at("requestBody").at("content").at("application/json").at("schema"), schemas);
  BOOST_TEST(sent.size() == 4U);
  for (const char* name : {"operation", "keys", "tenant_id", "preferred"}) BOOST_TEST(sent.contains(name), name);

  const auto answered = members_of(told.at("responses").at("200").at("content").at("application/json").at("schema"), schemas);
  BOOST_TEST(answered.contains("results"));
  for (const auto& word : schemas.at("PromotionWord").at("enum").as_array()) {
    stub_mp_server hook([&word](const stub_mp_server::asked&) {
      return stub_mp_server::told{.status = 200, .body = R"({"results":[)" + boost::json::serialize(word) + "]}"};
    });
    promotion_fixture store;
    store.add_store("http://127.0.0.1:" + std::to_string(hook.port()) + "/move", "store-1", "webhook");
    (void)store.prefetch(R"(,"wait_ms":10000)");
    BOOST_TEST(store.has_ended(std::string(std::string_view(word.as_string()))), word);
  }
}

BOOST_AUTO_TEST_CASE(the_page_of_metrics_names_each_family_once) {
  coordinator_fixture service;
  service.join(R"(a\"b)", 1);
  service.call("PUT", "/quota/s", R"({"limit_gb":1})");
  service.call("POST", "/quota/events", batch_text(1, event_text("store", "aa", 5)));
  const std::string page = service.call("GET", "/metrics").body;
  std::set<std::string> seen;
  for (std::size_t at = page.find("# TYPE "); at != std::string::npos; at = page.find("# TYPE ", at + 1)) {
    const std::string name = page.substr(at + 7, page.find(' ', at + 7) - at - 7);
    BOOST_TEST(seen.insert(name).second, name);
  }
  BOOST_TEST(service.metric(R"(kvc_coordinator_salt_usage_bytes{cache_salt="s"})") == 5);
  BOOST_TEST(service.metric(R"(kvc_coordinator_salt_quota_bytes{cache_salt="s"})") == 1'073'741'824.0);
  BOOST_TEST(service.metric(R"(kvc_coordinator_heartbeat_age_seconds{instance_id="a\"b"})") >= 0);
  BOOST_TEST(service.metric(R"(kvc_http_requests_total{route="coordinator",status="2xx"})") >= -1);
}

BOOST_AUTO_TEST_CASE(the_page_of_metrics_has_a_bound_whatever_things_are_called) {
  // A page is made at every scrape, and each name stands in many of its lines.
  coordinator_fixture service;
  const std::string name = std::string(40'000, 'n') + "\xC3\xA9";
  const std::string engine = name.substr(0, 4'000);
  const auto shown = [](const std::string& text) { return "=\"" + kvc::net::label_text(text) + "\""; };
  for (const char* last : {"1", "2"}) {
    service.join(name + last, 1);
    BOOST_REQUIRE(service.call("POST", "/quota/events", batch_text(1, "", name + last)).status == 200);
    BOOST_REQUIRE(service.call("PUT", "/quota/" + name.substr(0, 10'000) + last, R"({"limit_gb":1})").status == 200);
    const std::string stream = R"({"endpoint":"tcp://127.0.0.1:1","type":"vLLM","modelname":"m","block_size":4,"dp_rank":0,)"
                               R"("instance_id":")" +
                               engine + last + R"(","tenant_id":"t)" + engine + "\"}";
    BOOST_REQUIRE(service.call("POST", "/register", stream).status == 200);
  }
  const std::string page = service.call("GET", "/metrics").body;
  std::istringstream lines(page);
  std::size_t longest = 0;
  for (std::string line; std::getline(lines, line);) longest = std::max(longest, line.size());
  BOOST_TEST(longest < 1'000U);
  for (const char* last : {"1", "2"}) {
    BOOST_TEST(service.metric("kvc_coordinator_heartbeat_age_seconds{instance_id" + shown(name + last) + "}") >= 0);
    BOOST_TEST(service.metric("kvc_coordinator_sender_seq_missing_total{instance_id" + shown(name + last) + "}") == 0);
    BOOST_TEST(service.metric("kvc_coordinator_salt_quota_bytes{cache_salt" + shown(name.substr(0, 10'000) + last) + "}") > 0);
    BOOST_TEST(service.metric("kvc_stream_batches_total{tenant" + shown("t" + engine) + ",instance" + shown(engine + last) +
                              R"(,rank="0",class="engine"})") == 0);
  }
}

BOOST_AUTO_TEST_CASE(every_server_and_salt_up_to_the_bound_has_its_line) {
  // More of them than are written in one turn of the lane.
  coordinator_fixture service;
  constexpr int many = 60;
  for (int i = 0; i < many; ++i) {
    service.join("mp " + std::to_string(i), 1);
    service.call("PUT", "/quota/" + std::to_string(i), R"({"limit_gb":1})");
  }
  const std::string page = service.call("GET", "/metrics").body;
  for (int i = 0; i < many; ++i) {
    BOOST_TEST(page.find("kvc_coordinator_heartbeat_age_seconds{instance_id=\"mp " + std::to_string(i) + "\"} ") != std::string::npos, i);
    const std::string quota = "kvc_coordinator_salt_quota_bytes{cache_salt=\"" + std::to_string(i) + "\"} 1073741824\n";
    BOOST_TEST(page.find(quota) != std::string::npos, i);
  }
}

BOOST_AUTO_TEST_CASE(the_page_of_metrics_has_no_series_twice) {
  // A collector that reads strictly drops a page on which two lines have the same name and labels.
  const store_fixture service;
  const std::string page = ask(service.port(), "GET", "/metrics").body;
  std::set<std::string> seen;
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("#")) BOOST_TEST(seen.insert(line.substr(0, line.rfind(' '))).second, line);
  }
  BOOST_TEST(seen.contains(R"(kvc_prefetch_latency_seconds_bucket{le="2.5e-07"})"), page);
  BOOST_TEST(seen.contains("kvc_coordinator_instances"));
}

BOOST_AUTO_TEST_CASE(tokens_guard_both_surfaces) {
  coordinator_options options;
  options.coordinator.auth_tokens = {"all"};
  options.coordinator.auth_read_tokens = {"read"};
  coordinator_fixture service(options);
  const header_list may_read{{"Authorization", "Bearer read"}};
  const header_list may_write{{"Authorization", "Bearer all"}};

  const raw_answer nobody = service.call("GET", "/instances");
  BOOST_TEST(nobody.status == 401);
  BOOST_TEST(nobody.header("www-authenticate") == "Bearer");
  BOOST_TEST(json_of(nobody).at("detail").is_string());
  BOOST_TEST(service.call("GET", "/instances", {}, may_read).status == 200);
  BOOST_TEST(service.call("POST", "/blend/match", R"({"model_scope":"m"})", may_read).status == 200, "it changes nothing");
  BOOST_TEST(service.call("PUT", "/instances/a/heartbeat", {}, may_read).status == 403);
  BOOST_TEST(service.call("PUT", "/instances/a/heartbeat", {}, may_write).status == 404);
  BOOST_TEST(service.call("GET", "/services").status == 401);
  BOOST_TEST(service.call("GET", "/healthz").status == 200);
  BOOST_TEST(service.call("GET", "/metrics").status == 200);
}

BOOST_AUTO_TEST_CASE(limits_hold_for_the_coordinator_too) {
  coordinator_options options;
  options.http.max_body_bytes = 1'000;
  coordinator_fixture service(options);
  const raw_answer too_large = service.call("POST", "/quota/events", std::string(1'001, ' '));
  BOOST_TEST(too_large.status == 413);
  BOOST_TEST(too_large.body.starts_with(R"({"detail":)"), too_large.body);
  BOOST_TEST(service.call("POST", "/quota/events", R"({"instance_id":"a","seq":1,"events":[]})").status == 200);
}

BOOST_AUTO_TEST_CASE(a_request_whose_path_is_not_known_yet_is_not_refused_in_the_way_of_the_one_before) {
  coordinator_fixture service;
  raw_client client(service.port());
  BOOST_TEST(client.ask("GET", "/instances").status == 200);
  const raw_answer refused = client.ask("GET", "/" + std::string(70'000, 'x'));
  BOOST_TEST(refused.status == 413);
  BOOST_TEST(refused.body.find(R"("reason":)") != std::string::npos, refused.body);
}

BOOST_AUTO_TEST_CASE(a_client_that_is_slow_with_its_request_is_let_go) {
  // Heads and bodies have a deadline as a whole: a byte now and then does not help.
  coordinator_options options;
  options.http.header_timeout = options.http.body_timeout = std::chrono::milliseconds(100);
  coordinator_fixture service(options);
  for (const char* begun : {"PUT /instances/a/heart", "POST /quota/events HTTP/1.1\r\nHost: h\r\nContent-Length: 100000\r\n\r\n{"}) {
    raw_client client(service.port());
    client.send(begun);
    BOOST_TEST(client.trickles_until_closed(' ', std::chrono::milliseconds(10)), begun);
  }
  BOOST_TEST(service.call("GET", "/healthz").status == 200);
}

BOOST_AUTO_TEST_CASE(chunked_bodies_and_those_asked_for_work) {
  coordinator_fixture service;
  const std::string body = R"({"ip":"x","http_port":1,"instance_id":"a"})";
  raw_client client(service.port());
  client.send("POST /instances HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n2a\r\n" + body + "\r\n0\r\n\r\n");
  BOOST_TEST(body.size() == 0x2aU);
  BOOST_TEST(client.receive().status == 200);
  client.send("POST /instances HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 42\r\n\r\n");
  BOOST_TEST(client.receive(true).status == 100);
  client.send(body);
  BOOST_TEST(client.receive().body == R"({"instance_id":"a","re_registered":true})");
}

BOOST_AUTO_TEST_CASE(a_page_for_people_names_every_route_and_leads_to_the_description) {
  // Who looks for a route there and does not find it takes it for missing.
  coordinator_fixture service;
  const auto document = json_of(service.call("GET", "/openapi.json"));
  for (const char* path : {"/docs", "/redoc"}) {
    const raw_answer page = service.call("GET", path);
    BOOST_TEST(page.status == 200, path);
    BOOST_TEST(page.header("content-type") == "text/html; charset=utf-8");
    BOOST_TEST(page.body.find(R"(href="openapi.json")") != std::string::npos);
    for (const auto& [route, methods] : document.at("paths").as_object()) {
      for (const auto& [method, told] : methods.as_object()) {
        std::string row = "<tr><td>";
        for (const char letter : std::string_view(method)) row += static_cast<char>(letter & ~0x20);
        row.append("<td><code>").append(std::string_view(route)).append("</code><td>");
        row += told.at("summary").as_string();
        BOOST_TEST(page.body.find(row) != std::string::npos, row);
      }
    }
    BOOST_TEST(page.body.find("://") == std::string::npos, "nothing is fetched from elsewhere");
  }
}

BOOST_AUTO_TEST_SUITE_END()
