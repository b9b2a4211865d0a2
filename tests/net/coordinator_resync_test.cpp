// The listing at the start over sockets: order, races, failures, and what waits for it.
#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/test/unit_test.hpp>

#include "tests/support/net/coordinator_fixture.hpp"
#include "tests/support/net/heard_log.hpp"
#include "tests/support/net/stub_mp_server.hpp"

BOOST_AUTO_TEST_SUITE(coordinator_resync)

namespace {

using namespace kvc::test;

constexpr double complete = 2;
constexpr double gave_up = 3;

/// Looks for servers every 10 ms; nothing is ever evicted.
coordinator_options listing() {
  coordinator_options options;
  options.coordinator.enable_startup_resync = true;
  options.coordinator.resync_poll_interval = std::chrono::milliseconds(10);
  options.coordinator.resync_page_size = 2;
  return options;
}

std::string entry(std::string_view hash, std::uint64_t bytes) {
  return R"({"key":)" + key_text(hash) + R"(,"size_bytes":)" + std::to_string(bytes) + "}";
}

/// `next` as JSON.
std::string page(std::string_view entries, std::string_view next) {
  return R"({"adapter":"fs","entries":[)" + std::string(entries) + R"(],"next_page_token":)" + std::string(next) + "}";
}

}  // namespace

BOOST_AUTO_TEST_CASE(pages_are_asked_for_until_none_is_named) {
  stub_mp_server server([](const stub_mp_server::asked& request) -> stub_mp_server::told {
    if (request.target == "/cache/objects?page_size=2") return {200, page(entry("aa", 1) + "," + entry("bb", 2), R"("a/b c+1")")};
    return {200, page(entry("cc", 4), "null")};
  });
  coordinator_fixture service(listing());
  BOOST_TEST(service.metric("kvc_coordinator_resync_state") <= 1);
  service.join("a", server.port());

  BOOST_TEST(service.reaches("kvc_coordinator_resync_state", complete));
  const auto requests = server.so_far();
  BOOST_TEST(requests.size() == 2U);
  BOOST_TEST(requests.at(0).method == "GET");
  BOOST_TEST(requests.at(1).target == "/cache/objects?page_size=2&page_token=a%2Fb%20c%2B1", "a token means nothing to us");
  BOOST_TEST(service.metric("kvc_coordinator_usage_bytes") == 7);
  BOOST_TEST(service.metric("kvc_coordinator_resync_pages") == 2);
  BOOST_TEST(service.metric("kvc_coordinator_resync_keys_total") == 3);
}

BOOST_AUTO_TEST_CASE(bad_entries_are_skipped_and_an_absent_token_is_the_end) {
  stub_mp_server server([](const stub_mp_server::asked&) -> stub_mp_server::told {
    const std::string bad = R"(7,{"key":{"chunk_hash_hex":"zz","model_name":"m","kv_rank":0},"size_bytes":1},{"size_bytes":1},{"key":)";
    return {200, R"({"entries":[)" + bad + key_text("aa") + "}," + entry("bb", 5) + "]}"};
  });
  coordinator_fixture service(listing());
  service.join("a", server.port());
  BOOST_TEST(service.reaches("kvc_coordinator_resync_state", complete));
  BOOST_TEST(service.metric("kvc_coordinator_usage_bytes") == 5);
  BOOST_TEST(service.metric("kvc_coordinator_resync_bad_entries_total") == 4);
}

BOOST_AUTO_TEST_CASE(what_is_heard_meanwhile_is_newer_than_the_listing) {
  // A key stored since keeps its size, one deleted since does not come back.
  stub_mp_server server([](const stub_mp_server::asked&) -> stub_mp_server::told {
    return {200, page(entry("aa", 100) + "," + entry("bb", 100) + "," + entry("cc", 100), "null")};
  });
  server.hold();
  coordinator_fixture service(listing());
  service.join("a", server.port());
  (void)server.wait_for(1);
  BOOST_TEST(
      service.call("POST", "/quota/events", batch_text(1, event_text("store", "aa", 1) + "," + event_text("delete", "bb", 0))).status ==
      200);
  server.resume();

  BOOST_TEST(service.reaches("kvc_coordinator_resync_state", complete));
  BOOST_TEST(service.metric("kvc_coordinator_usage_bytes") == 101);
  BOOST_TEST(service.metric("kvc_coordinator_keys") == 2);
}

BOOST_AUTO_TEST_CASE(listed_keys_are_older_than_heard_ones) {
  // The last listed is the youngest of the listed; a store heard meanwhile is younger than all of them.
  coordinator_options options = listing();
  options.coordinator.eviction_check_interval = std::chrono::milliseconds(20);
  options.coordinator.eviction_ratio = 0.5;
  stub_mp_server server([&](const stub_mp_server::asked& request) -> stub_mp_server::told {
    if (request.method != "GET") return {};
    return {200, page(entry("aa", 1) + "," + entry("bb", 1) + "," + entry("cc", 1), "null")};
  });
  server.hold();
  coordinator_fixture service(options);
  service.call("PUT", "/quota/s", R"({"limit_gb":9.313225746154785e-10})");
  service.join("a", server.port());
  (void)server.wait_for(1);
  service.call("POST", "/quota/events", batch_text(1, event_text("store", "dd", 1)));
  server.resume();

  const auto eviction = server.wait_for(2).at(1);
  const auto keys = boost::json::parse(eviction.body).at("keys").as_array();
  BOOST_TEST(keys.size() == 2U);
  BOOST_TEST(keys.at(0).at("chunk_hash_hex").as_string() == "aa");
  BOOST_TEST(keys.at(1).at("chunk_hash_hex").as_string() == "bb");
}

BOOST_AUTO_TEST_CASE(nothing_is_evicted_before_it_has_ended) {
  // After a restart everything would look like too much.
  coordinator_options options = listing();
  options.coordinator.eviction_check_interval = std::chrono::milliseconds(10);
  stub_mp_server server([](const stub_mp_server::asked& request) -> stub_mp_server::told {
    return {200, request.method == "GET" ? page(entry("aa", 1), "null") : "{}"};
  });
  server.hold();
  coordinator_fixture service(options);
  service.call("POST", "/quota/events", batch_text(1, event_text("store", "dd", 1)));
  service.join("a", server.port());
  (void)server.wait_for(1);
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(100);  // ten cycles
  while (std::chrono::steady_clock::now() < until) BOOST_TEST(service.metric("kvc_coordinator_evictions_planned_total") == 0);
  server.resume();

  BOOST_TEST(server.wait_for(2).at(1).method == "DELETE");
}

BOOST_AUTO_TEST_CASE(the_next_server_is_asked_when_one_cannot_list) {
  // 503 (no adapter, listing unsupported), no page at all, a token that goes round, or nobody there: another one is asked, each once.
  struct failure {
    const char* why;
    stub_mp_server::told answer;
  };
  const failure failures[] = {{"cannot list", {503, R"({"detail":"listing unsupported"})"}},
                              {"redirects are not followed", {302, ""}},
                              {"no page", {200, "[]"}},
                              {"no JSON", {200, "nothing"}},
                              {"a token that is no text", {200, R"({"entries":[],"next_page_token":7})"}},
                              {"names the same page for ever", {200, page("", R"("again")")}}};
  for (const failure& each : failures) {
    stub_mp_server bad([&](const stub_mp_server::asked&) { return each.answer; });
    stub_mp_server good([&](const stub_mp_server::asked&) -> stub_mp_server::told { return {200, page(entry("aa", 9), "null")}; });
    const heard_log log;
    coordinator_fixture service(listing());
    service.join("bad", bad.port());
    (void)bad.wait_for(1);
    service.join("good", good.port());
    BOOST_TEST(service.reaches("kvc_coordinator_resync_state", complete), each.why);
    BOOST_TEST(service.metric("kvc_coordinator_resync_state") == complete, each.why);
    BOOST_TEST(service.metric("kvc_coordinator_usage_bytes") == 9, each.why);
    BOOST_TEST(service.metric("kvc_coordinator_resync_servers_failed") == 1, each.why);
    const auto lines = log.lines();
    const auto names_it = [](const std::string& line) { return line.find("resync page failed instance=bad reason=") != std::string::npos; };
    BOOST_TEST(std::ranges::count_if(lines, names_it) == 1, each.why);
  }
}

BOOST_AUTO_TEST_CASE(gives_up_when_nobody_comes) {
  coordinator_options options = listing();
  options.coordinator.resync_max_wait = std::chrono::milliseconds(50);
  coordinator_fixture service(options);
  BOOST_TEST(service.reaches("kvc_coordinator_resync_state", gave_up));
  stub_mp_server late;
  service.join("late", late.port());
  BOOST_TEST(service.call("PUT", "/instances/late/heartbeat").status == 200);
  BOOST_TEST(late.so_far().empty(), "once per process");
}

BOOST_AUTO_TEST_CASE(a_page_that_never_comes_has_a_deadline) {
  coordinator_options options = listing();
  options.coordinator.call_timeout = std::chrono::milliseconds(100);
  options.coordinator.resync_max_wait = std::chrono::milliseconds(300);
  stub_mp_server silent;
  silent.hold();
  coordinator_fixture service(options);
  service.join("a", silent.port());
  BOOST_TEST(service.reaches("kvc_coordinator_resync_state", gave_up));
  BOOST_TEST(service.metric("kvc_coordinator_resync_servers_failed") == 1);
}

BOOST_AUTO_TEST_CASE(a_stop_does_not_wait_for_a_listing) {
  stub_mp_server silent;
  silent.hold();
  const auto begun = std::chrono::steady_clock::now();
  {
    coordinator_fixture service(listing());
    service.join("a", silent.port());
    (void)silent.wait_for(1);
  }
  BOOST_TEST((std::chrono::steady_clock::now() - begun < std::chrono::seconds(9)));
}

BOOST_AUTO_TEST_CASE(a_page_far_longer_than_asked_for_is_none) {
  // Its text is bounded by the number of entries asked for; below that a long page is read beside the lanes.
  std::string more = R"("next_page_token":null,"x":")" + std::string(300'000, 'x') + R"("})";
  stub_mp_server server([&](const stub_mp_server::asked&) -> stub_mp_server::told {
    return {200, R"({"entries":[)" + entry("aa", 1) + "]," + more};
  });
  {
    coordinator_fixture service(listing());
    service.join("a", server.port());
    BOOST_TEST(service.reaches("kvc_coordinator_resync_state", complete));
    BOOST_TEST(service.metric("kvc_coordinator_keys") == 1);
    BOOST_TEST(service.metric("kvc_coordinator_bodies_read_aside_total") == 1);
  }

  more.insert(more.size() - 2, std::string(1U << 20, 'x'));
  coordinator_fixture service(listing());
  service.join("a", server.port());
  BOOST_TEST(service.reaches("kvc_coordinator_resync_servers_failed", 1));
  BOOST_TEST(service.metric("kvc_coordinator_keys") == 0);
}

BOOST_AUTO_TEST_SUITE_END()
