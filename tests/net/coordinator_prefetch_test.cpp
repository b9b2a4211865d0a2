// Prefetches relayed to the MP server that the client names, over sockets.
#include <chrono>
#include <cstddef>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/test/unit_test.hpp>

#include "net/api_prefetch.hpp"
#include "net/coordinator_context.hpp"
#include "net/coordinator_reading.hpp"
#include "tests/support/net/coordinator_fixture.hpp"
#include "tests/support/net/stub_mp_server.hpp"

BOOST_AUTO_TEST_SUITE(coordinator_prefetch)

namespace {

namespace asio = boost::asio;
using namespace kvc;
using namespace kvc::test;

/// A submission of so many tokens.
std::string submission_of(std::size_t tokens) {
  std::string body = R"({"instance_id":"a","model_name":"m","world_size":1,"token_ids":[)";
  for (std::size_t i = 0; i < tokens; ++i) body += i == 0 ? "7" : ",7";
  return body + "]}";
}

net::http_request head_of(std::string_view method, std::string_view path) {
  net::http_request request;
  request.method = method;
  request.path = path;
  return request;
}

constexpr const char* wanted = R"({"instance_id":"a","model_name":"m","world_size":"2","token_ids":[1,2.0,-3],"cache_salt":"s","more":1})";

}  // namespace

BOOST_AUTO_TEST_CASE(a_submission_is_relayed_with_exactly_four_fields) {
  stub_mp_server server([](const stub_mp_server::asked&) -> stub_mp_server::told {
    return {202, R"({"request_id":"abc123","chunks":12,"status":"submitted"})"};
  });
  coordinator_fixture service;
  service.join("a", server.port());

  const raw_answer submitted = service.call("POST", "/cache/prefetches", wanted);
  BOOST_TEST(submitted.status == 200);
  BOOST_TEST(submitted.body == R"({"instance_id":"a","request_id":"abc123","chunks":12,"status":"submitted"})");
  const auto request = server.wait_for(1).front();
  BOOST_TEST(request.method == "POST");
  BOOST_TEST(request.target == "/cache/prefetches");
  BOOST_TEST((boost::json::parse(request.body) ==
              boost::json::parse(R"({"model_name":"m","world_size":2,"token_ids":[1,2,-3],"cache_salt":"s"})")),
             request.body);

  service.call("POST", "/cache/prefetches", R"({"instance_id":"a","model_name":"m","world_size":1})");
  BOOST_TEST((boost::json::parse(server.wait_for(2).at(1).body) ==
              boost::json::parse(R"({"model_name":"m","world_size":1,"token_ids":[],"cache_salt":""})")));
}

BOOST_AUTO_TEST_CASE(what_the_server_leaves_out_has_a_default) {
  stub_mp_server server([](const stub_mp_server::asked&) -> stub_mp_server::told { return {200, R"({"chunks":0,"status":"noop"})"}; });
  coordinator_fixture service;
  service.join("a", server.port());
  BOOST_TEST(service.call("POST", "/cache/prefetches", wanted).body == R"({"instance_id":"a","request_id":"","chunks":0,"status":"noop"})");
}

BOOST_AUTO_TEST_CASE(answers_that_are_none) {
  struct row {
    stub_mp_server::told answer;
    int status;
  };
  for (const row& each : {row{{400, R"({"detail":"bad direction"})"}, 502}, row{{302, ""}, 502}, row{{503, "busy"}, 502},
                          row{{200, "no JSON"}, 500}, row{{200, "[]"}, 500}, row{{200, R"({"chunks":"many"})"}, 500}}) {
    stub_mp_server server([&](const stub_mp_server::asked&) { return each.answer; });
    coordinator_fixture service;
    service.join("a", server.port());
    const raw_answer failed = service.call("POST", "/cache/prefetches", wanted);
    BOOST_TEST(failed.status == each.status, each.answer.body);
    const std::string detail(json_of(failed).at("detail").as_string());
    if (each.status == 502) BOOST_TEST(detail.starts_with("prefetch submit to 'a' failed: "), detail);
  }
}

BOOST_AUTO_TEST_CASE(an_unknown_server_is_told_before_anything_is_sent) {
  coordinator_fixture service;
  for (const raw_answer& unknown : {service.call("POST", "/cache/prefetches", wanted), service.call("GET", "/cache/prefetches/a/abc")}) {
    BOOST_TEST(unknown.status == 404);
    BOOST_TEST(unknown.body == R"({"detail":"no MP server registered with instance_id='a'"})");
  }
  const std::string asked = R"({"instance_id":")" + std::string(1'000'000, 'a') + R"(","model_name":"m","world_size":1})";
  const raw_answer cut = service.call("POST", "/cache/prefetches", asked);
  BOOST_TEST(cut.status == 404);
  BOOST_TEST(cut.body.starts_with(R"({"detail":"no MP server registered with instance_id='aaa)"));
  BOOST_TEST(cut.body.size() < 1'000U);
}

BOOST_AUTO_TEST_CASE(fields_of_a_submission_are_checked) {
  coordinator_fixture service;
  for (const char* body :
       {R"({"model_name":"m","world_size":1})", R"({"instance_id":"a","world_size":1})", R"({"instance_id":"a","model_name":"m"})",
        R"({"instance_id":"a","model_name":"m","world_size":0})", R"({"instance_id":"a","model_name":"m","world_size":1,"token_ids":"x"})",
        R"({"instance_id":"a","model_name":"m","world_size":1,"token_ids":[1.5]})",
        R"({"instance_id":"a","model_name":"m","world_size":1,"cache_salt":null})", "[]", ""}) {
    const raw_answer refused = service.call("POST", "/cache/prefetches", body);
    BOOST_TEST(refused.status == 422, body);
    BOOST_TEST(json_of(refused).at("detail").as_array().size() == 1U, refused.body);
  }
}

BOOST_AUTO_TEST_CASE(a_submission_has_a_bounded_number_of_tokens) {
  // No MP server takes more, and while the call waits the tokens lie here.
  stub_mp_server server([](const stub_mp_server::asked&) -> stub_mp_server::told { return {202, R"({"chunks":1})"}; });
  coordinator_fixture service;
  service.join("a", server.port());
  BOOST_TEST(service.call("POST", "/cache/prefetches", submission_of(1'000'000)).status == 200);
  BOOST_TEST(server.wait_for(1).front().body.size() > 2'000'000U);

  const raw_answer refused = service.call("POST", "/cache/prefetches", submission_of(1'000'001));
  BOOST_TEST(refused.status == 422);
  BOOST_TEST((json_of(refused) == boost::json::parse(R"({"detail":[{"type":"too_long","loc":["body","token_ids"],
    "msg":"List should have at most 1000000 items after validation, not 1000001","input":null,"ctx":{"max_length":1000000}}]})")),
             refused.body);
  BOOST_TEST(server.so_far().size() == 1U);
}

BOOST_AUTO_TEST_CASE(what_a_submission_was_read_from_is_gone_while_the_call_waits) {
  // Many may wait, each with up to 64 MiB that nobody will look at again.
  stub_mp_server server;
  server.hold();
  coordinator_fixture service;
  service.join("a", server.port());
  std::size_t asked = 0;
  for (const std::size_t blanks : {std::size_t{0}, net::most_read_in_a_turn(net::coordinator_endpoint::submit_prefetch)}) {
    net::lane& here = service.lanes.at(0);
    std::string body = wanted + std::string(blanks, ' ');
    net::http_request request = head_of("POST", "/cache/prefetches");
    request.body = body;
    request.kept_body = &body;
    const net::http_plan plan = service.coordinator.plan(request);
    auto answer = asio::co_spawn(here.context, service.coordinator.answer(here, request, plan), asio::use_future);
    const std::string relayed = server.wait_for(++asked).back().body;
    BOOST_TEST(
        (boost::json::parse(relayed) == boost::json::parse(R"({"model_name":"m","world_size":2,"token_ids":[1,2,-3],"cache_salt":"s"})")),
        relayed);
    const std::size_t kept = asio::post(here.context, asio::use_future([&] { return body.capacity(); })).get();
    BOOST_TEST(kept == std::string().capacity());
    server.resume();
    BOOST_TEST(answer.get().status == 200U);
    server.hold();
  }
}

BOOST_AUTO_TEST_CASE(the_time_of_a_call_begins_when_it_does) {
  // A submission may have to wait until others have been read. However long that takes, the client has its answer from the coordinator and
  // in the contract's words: the session waits for as long as the reading may take and the call, and the call ends before the session does.
  coordinator_options options;
  options.coordinator.call_timeout = std::chrono::seconds(30);
  coordinator_fixture service(options);
  const net::http_plan submit = service.coordinator.plan(head_of("POST", "/cache/prefetches"));
  const net::http_plan poll = service.coordinator.plan(head_of("GET", "/cache/prefetches/a/r"));
  BOOST_TEST((poll.patience > 2 * std::chrono::seconds(30)), "a connection may have to be waited for as long again");
  BOOST_TEST((submit.patience >= poll.patience + std::chrono::seconds(60)));
}

BOOST_AUTO_TEST_CASE(a_call_has_an_end_however_late_it_begins) {
  stub_mp_server server;
  server.hold();
  core::catalog catalog;
  net::runtime lanes(1, catalog);
  net::coordinator_context context(lanes.at(0), {});
  core::mp_server joined;
  joined.instance_id = "a";
  joined.ip = "127.0.0.1";
  joined.http_port = server.port();
  BOOST_REQUIRE(context.tables.servers.add(joined, std::chrono::steady_clock::now(), std::chrono::system_clock::now()));
  std::optional<net::http_reply> reply;
  const auto submit = [&]() -> asio::awaitable<void> {
    net::prefetch_order order{.instance_id = "a", .body = "{}"};
    reply = co_await net::submit_prefetch_reply(context, lanes.at(0), std::move(order), {}, std::chrono::steady_clock::now());
  };
  asio::co_spawn(lanes.at(0).context, submit(), [&](std::exception_ptr failed) {
    BOOST_TEST(!failed);
    lanes.at(0).context.stop();
  });
  lanes.at(0).context.run_for(std::chrono::seconds(20));
  BOOST_REQUIRE(reply.has_value());
  BOOST_TEST(reply->status == 502U);
  BOOST_TEST(reply->body.starts_with(R"({"detail":"prefetch submit to 'a' failed: )"), reply->body);
}

BOOST_AUTO_TEST_CASE(a_status_is_relayed_as_it_is) {
  struct row {
    stub_mp_server::told answer;
    std::string body;
  };
  const row rows[] = {{{200, R"({"request_id":"r 1","status":"pending"})"}, R"({"request_id":"r 1","status":"pending"})"},
                      {{404, R"({"detail":"unknown request"})"}, R"({"detail":"unknown request"})"},
                      {{500, "[1, 2]"}, "[1, 2]"},
                      {{503, "no \"JSON\"", "text/plain"}, R"({"detail":"no \"JSON\""})"},
                      {{418, ""}, R"({"detail":""})"},
                      {{204, ""}, ""}};
  for (const row& each : rows) {
    stub_mp_server server([&](const stub_mp_server::asked&) { return each.answer; });
    coordinator_fixture service;
    service.join("a", server.port());
    raw_client client(service.port());
    const raw_answer told = client.ask("GET", "/cache/prefetches/a/r%201");
    BOOST_TEST(told.status == static_cast<int>(each.answer.status));
    BOOST_TEST(told.body == each.body);
    BOOST_TEST(server.wait_for(1).front().target == "/cache/prefetches/r%201");
    BOOST_TEST(client.ask("GET", "/healthz").status == 200, "the connection is in order");
  }
}

BOOST_AUTO_TEST_CASE(a_server_that_is_not_there_is_a_502) {
  std::optional<stub_mp_server> server(std::in_place);
  coordinator_fixture service;
  service.join("a", server->port());
  server.reset();
  BOOST_TEST(service.call("POST", "/cache/prefetches", wanted).status == 502);
  const raw_answer failed = service.call("GET", "/cache/prefetches/a/abc");
  BOOST_TEST(failed.status == 502);
  BOOST_TEST(std::string(json_of(failed).at("detail").as_string()).starts_with("prefetch status from 'a' failed: "));
  BOOST_TEST(service.metric("kvc_coordinator_prefetches_total") == 2);
  BOOST_TEST(service.metric("kvc_coordinator_prefetches_failed_total") == 2);
}

BOOST_AUTO_TEST_CASE(a_silent_server_is_a_502_at_the_deadline) {
  // The call's own deadline counts, not the server's for answers.
  coordinator_options options;
  options.coordinator.call_timeout = std::chrono::milliseconds(300);
  options.http.handler_timeout = std::chrono::milliseconds(50);
  stub_mp_server server;
  server.hold();
  coordinator_fixture service(options);
  service.join("a", server.port());
  BOOST_TEST(service.call("GET", "/cache/prefetches/a/abc").status == 502);
}

BOOST_AUTO_TEST_CASE(a_call_ends_when_its_client_goes_away) {
  // Nobody would read the answer, and the connection to the server is needed by others.
  stub_mp_server server;
  server.hold();
  coordinator_fixture service;
  service.join("a", server.port());
  {
    raw_client client(service.port());
    client.send(raw_client::request("POST", "/cache/prefetches", wanted));
    (void)server.wait_for(1);
  }
  BOOST_TEST(server.is_abandoned());
  BOOST_TEST(service.reaches("kvc_coordinator_prefetches_failed_total", 1));
  BOOST_TEST(service.metric("kvc_coordinator_calls") == 0);
}

BOOST_AUTO_TEST_CASE(connections_to_a_server_are_bounded) {
  // As many as leave others enough of those there are in all; who comes later waits, and all are answered.
  stub_mp_server server;
  server.hold();
  coordinator_fixture service;
  service.join("a", server.port());
  std::vector<raw_client> clients;
  for (int i = 0; i < 80; ++i) {
    clients.emplace_back(service.port());
    clients.back().send(raw_client::request("GET", "/cache/prefetches/a/abc"));
  }
  BOOST_TEST(service.reaches("kvc_coordinator_prefetches_total", 80));
  (void)server.wait_for(64);
  server.resume();
  for (raw_client& each : clients) BOOST_TEST(each.receive().status == 200);
  BOOST_TEST(server.most_connections() == 64U);
}

BOOST_AUTO_TEST_CASE(a_stop_ends_a_call_that_hangs) {
  // Longer than the stop's patience would be noticed by the assertion that no task is left.
  stub_mp_server server;
  server.hold();
  {
    coordinator_fixture service;
    service.join("a", server.port());
    raw_client client(service.port());
    client.send(raw_client::request("GET", "/cache/prefetches/a/abc"));
    (void)server.wait_for(1);
    BOOST_TEST(!service.lanes.stop(std::chrono::milliseconds(50)));
  }
  BOOST_TEST(server.is_abandoned());
}

BOOST_AUTO_TEST_CASE(what_a_server_answers_is_bounded) {
  // However much one server sends, the lane that asks it goes on with everything else.
  std::string polled = R"({"status":"pending","x":")" + std::string(300'000, 'x') + R"("})";
  stub_mp_server server([&](const stub_mp_server::asked& request) -> stub_mp_server::told {
    if (request.method == "POST") return {202, R"({"chunks":1,"x":")" + std::string(300'000, 'x') + R"("})"};
    return {200, polled};
  });
  coordinator_fixture service;
  service.join("a", server.port());
  BOOST_TEST(service.call("GET", "/cache/prefetches/a/r").body == polled);
  BOOST_TEST(service.metric("kvc_coordinator_bodies_read_aside_total") == 1, "long ones are read beside the lanes");

  polled.insert(polled.size() - 2, std::string(1U << 20, 'x'));
  for (const raw_answer& refused : {service.call("GET", "/cache/prefetches/a/r"), service.call("POST", "/cache/prefetches", wanted)}) {
    BOOST_TEST(refused.status == 502);
    BOOST_TEST(refused.body.find("over the size limit") != std::string::npos, refused.body);
  }
  BOOST_TEST(service.metric("kvc_coordinator_prefetches_failed_total") == 2);
}

BOOST_AUTO_TEST_CASE(a_number_of_chunks_is_never_negative) {
  std::string chunks;
  stub_mp_server server([&](const stub_mp_server::asked&) -> stub_mp_server::told { return {202, R"({"chunks":)" + chunks + "}"}; });
  coordinator_fixture service;
  service.join("a", server.port());
  chunks = "18446744073709551615";
  BOOST_TEST(service.call("POST", "/cache/prefetches", wanted).body ==
             R"({"instance_id":"a","request_id":"","chunks":9223372036854775807,"status":"submitted"})");
  chunks = "-1";
  BOOST_TEST(service.call("POST", "/cache/prefetches", wanted).status == 500);
}

BOOST_AUTO_TEST_SUITE_END()
