// The eviction cycle over sockets: what is sent to whom, and what happens when it goes wrong.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/test/unit_test.hpp>

#include "core/object_key.hpp"
#include "net/mp_text.hpp"
#include "tests/support/net/coordinator_fixture.hpp"
#include "tests/support/net/stub_mp_server.hpp"

BOOST_AUTO_TEST_SUITE(coordinator_eviction)

namespace {

using namespace kvc::test;
using namespace std::string_literals;

/// A cycle every 20 ms.
coordinator_options evicting() {
  coordinator_options options;
  options.coordinator.eviction_check_interval = std::chrono::milliseconds(20);
  return options;
}

/// Keys `first` to `last` - 1 of one byte each, named by four digits.
std::string stores(int first, int last, std::string_view salt = "s") {
  std::string events;
  for (int i = first; i < last; ++i) {
    const std::string digits = std::to_string(100'000 + i);
    events += (i == first ? "" : ",") + event_text("store", digits, 1, salt);
  }
  return events;
}

std::vector<std::string> hashes_of(const stub_mp_server::asked& request) {
  std::vector<std::string> hashes;
  const auto document = boost::json::parse(request.body);
  for (const auto& each : document.at("keys").as_array()) {
    hashes.emplace_back(each.at("chunk_hash_hex").as_string());
  }
  return hashes;
}

/// 10 bytes in GiB.
constexpr const char* ten_bytes = R"({"limit_gb":9.313225746154785e-9})";

}  // namespace

BOOST_AUTO_TEST_CASE(the_least_recently_used_share_is_sent_to_a_server) {
  // Reaching the limit is enough; a fifth of ten keys goes, the oldest first, and a look-up makes a key young.
  coordinator_fixture service(evicting());
  stub_mp_server server;
  service.call("PUT", "/quota/s", ten_bytes);
  service.join("a", server.port());
  service.call("POST", "/quota/events", batch_text(1, stores(0, 9)));
  service.call("POST", "/quota/events", batch_text(2, event_text("lookup", "100000", 0) + "," + event_text("store", "AbCd", 1)));

  const auto request = server.wait_for(1).front();
  BOOST_TEST(request.method == "DELETE");
  BOOST_TEST(request.target == "/cache/objects");
  BOOST_TEST(request.head.find("Content-Type: application/json") != std::string::npos);
  BOOST_TEST((boost::json::parse(request.body) == boost::json::parse(R"({"keys":[
    {"chunk_hash_hex":"100001","model_name":"m","kv_rank":16777472,"object_group_id":0,"cache_salt":"s"},
    {"chunk_hash_hex":"100002","model_name":"m","kv_rank":16777472,"object_group_id":0,"cache_salt":"s"}]})")),
             request.body);
}

BOOST_AUTO_TEST_CASE(nothing_changes_until_the_deletion_is_told) {
  coordinator_fixture service(evicting());
  stub_mp_server server;
  service.call("PUT", "/quota/s", ten_bytes);
  service.join("a", server.port());
  service.call("POST", "/quota/events", batch_text(1, stores(0, 10)));
  const auto sent = hashes_of(server.wait_for(1).front());
  BOOST_TEST(sent.size() == 2U);
  BOOST_TEST(service.metric("kvc_coordinator_usage_bytes") == 10);

  // In flight: some cycles on, nothing more has been sent, neither the same keys again nor others in their place.
  BOOST_TEST(service.reaches("kvc_coordinator_eviction_cycles_total", service.metric("kvc_coordinator_eviction_cycles_total") + 5));
  BOOST_TEST(server.so_far().size() == 1U);

  service.call("POST", "/quota/events", batch_text(2, event_text("delete", sent[0], 0) + "," + event_text("delete", sent[1], 0)));
  BOOST_TEST(service.metric("kvc_coordinator_usage_bytes") == 8);
  BOOST_TEST(service.metric("kvc_coordinator_evictions_planned_total") == 2);
  BOOST_TEST(service.metric("kvc_coordinator_evictions_sent_total") == 2);
  BOOST_TEST(service.metric("kvc_coordinator_evictions_confirmed_total") == 2);
  BOOST_TEST(service.metric("kvc_coordinator_keys_in_flight") == 0);
}

BOOST_AUTO_TEST_CASE(a_salt_without_a_quota_goes_as_a_whole_unless_it_is_exempt) {
  coordinator_fixture service(evicting());
  stub_mp_server server;
  service.call("PUT", "/quota/config", R"({"default_limit_gb":null})");
  service.join("a", server.port());
  service.call("POST", "/quota/events", batch_text(1, stores(0, 3)));
  BOOST_TEST(service.reaches("kvc_coordinator_eviction_cycles_total", service.metric("kvc_coordinator_eviction_cycles_total") + 3));
  BOOST_TEST(server.so_far().empty());

  service.call("PUT", "/quota/config", R"({"default_limit_gb":0})");
  BOOST_TEST(hashes_of(server.wait_for(1).front()).size() == 3U);
}

BOOST_AUTO_TEST_CASE(long_plans_are_split_at_ten_thousand_keys) {
  // Servers refuse more. All pieces go to the one server that was picked.
  coordinator_options options = evicting();
  options.coordinator.eviction_check_interval = std::chrono::milliseconds(300);
  coordinator_fixture service(options);
  service.call("PUT", "/quota/config", R"({"default_limit_gb":null})");
  stub_mp_server one;
  stub_mp_server other;
  for (int i = 0; i < 25; ++i) {
    service.call("POST", "/quota/events", batch_text(static_cast<std::uint64_t>(i) + 1, stores(i * 1'000, (i + 1) * 1'000)));
  }
  service.join("a", one.port());
  service.join("b", other.port());
  service.call("PUT", "/quota/config", R"({"default_limit_gb":0})");

  BOOST_REQUIRE(service.reaches("kvc_coordinator_deletion_requests_total", 3));
  BOOST_TEST(service.reaches("kvc_coordinator_evictions_sent_total", 25'000));
  std::vector<stub_mp_server::asked> requests = one.so_far().empty() ? other.wait_for(3) : one.wait_for(3);
  BOOST_TEST((one.so_far().empty() || other.so_far().empty()), "one server for the whole plan");
  std::set<std::string> all;
  for (const auto& each : requests) {
    const auto hashes = hashes_of(each);
    BOOST_TEST(hashes.size() <= 10'000U);
    all.insert(hashes.begin(), hashes.end());
  }
  BOOST_TEST(all.size() == 25'000U);
}

BOOST_AUTO_TEST_CASE(long_names_make_more_requests_and_not_longer_ones) {
  // A model's name is kept once and written for each key.
  coordinator_options options = evicting();
  options.coordinator.eviction_check_interval = std::chrono::milliseconds(300);
  coordinator_fixture service(options);
  service.call("PUT", "/quota/config", R"({"default_limit_gb":null})");
  const std::string key_rest = R"(","model_name":")" + std::string(4'000, 'm') + R"(","kv_rank":0,"cache_salt":"s"},"bytes":1})";
  for (int i = 0; i < 20; ++i) {
    std::string events;
    for (int each = 0; each < 100; ++each) {
      const std::string digits = std::to_string(100'000 + i * 100 + each);
      events += (each == 0 ? "" : ",") + R"({"type":"store","key":{"chunk_hash_hex":")"s + digits + key_rest;
    }
    BOOST_REQUIRE(service.call("POST", "/quota/events", batch_text(static_cast<std::uint64_t>(i) + 1, events)).status == 200);
  }
  stub_mp_server server;
  service.join("a", server.port());
  service.call("PUT", "/quota/config", R"({"default_limit_gb":0})");

  BOOST_REQUIRE(service.reaches("kvc_coordinator_evictions_sent_total", 2'000));
  std::set<std::string> all;
  for (const auto& each : server.wait_for(2)) {
    BOOST_TEST(each.body.size() <= std::size_t{4} << 20);
    const auto hashes = hashes_of(each);
    all.insert(hashes.begin(), hashes.end());
  }
  BOOST_TEST(all.size() == 2'000U);
}

BOOST_AUTO_TEST_CASE(no_key_is_written_longer_than_it_is_planned_to_be) {
  // The planner ends a request by the text it expects.
  using namespace kvc::core;
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);
  for (const std::string& text : {""s, "m"s, bytes, std::string(100, '\x7F'), std::string(100, '"'), std::string(100, '\xFF')}) {
    std::string written = ",";
    kvc::net::append_object_key(written, {text, text, std::numeric_limits<std::int64_t>::min(), ~std::uint64_t{0}, text});
    BOOST_TEST(written.size() <= written_around_key + 2 * text.size() + 2 * escaped_size(text));
  }
}

BOOST_AUTO_TEST_CASE(what_failed_is_sent_again) {
  // No 2xx, `ok` false under a 200, no connection: each time the next cycle sends the same keys again.
  coordinator_fixture service(evicting());
  std::atomic<int> asked = 0;
  stub_mp_server server([&](const stub_mp_server::asked&) -> stub_mp_server::told {
    switch (asked++) {
      case 0: return {503, R"({"detail":"busy"})"};
      case 1: return {200, R"({"deleted":0,"skipped":0,"ok":false,"error":"the adapter failed"})"};
      case 2: return {302, ""};
      default: return {200, R"({"deleted":1,"skipped":0,"ok":true})"};
    }
  });
  service.join("a", server.port());
  service.call("POST", "/quota/events", batch_text(1, stores(0, 1)));

  for (const auto& each : server.wait_for(4))
    BOOST_TEST(hashes_of(each) == (std::vector<std::string>{"100000"}), boost::test_tools::per_element());
  BOOST_TEST(service.metric("kvc_coordinator_deletion_requests_failed_total") == 3);
  BOOST_TEST(service.metric("kvc_coordinator_evictions_failed_total") == 3);
  BOOST_TEST(service.metric("kvc_coordinator_keys_in_flight") == 1);
}

BOOST_AUTO_TEST_CASE(keys_that_no_server_deletes_do_not_keep_a_tenant_over_its_quota) {
  // The two oldest cannot be deleted: asked for in every cycle, they would be all that is ever asked for.
  coordinator_fixture service(evicting());
  stub_mp_server server([&](const stub_mp_server::asked&) -> stub_mp_server::told {
    return {200, R"({"deleted":0,"skipped":2,"ok":false,"error":"pinned"})"};
  });
  service.call("PUT", "/quota/s", ten_bytes);
  service.join("a", server.port());
  service.call("POST", "/quota/events", batch_text(1, stores(0, 12)));

  const auto requests = server.wait_for(4);
  for (std::size_t time = 0; time < 3; ++time)
    BOOST_TEST(hashes_of(requests[time]) == (std::vector<std::string>{"100000", "100001"}), boost::test_tools::per_element());
  BOOST_TEST(hashes_of(requests[3]) == (std::vector<std::string>{"100002", "100003"}), boost::test_tools::per_element());
  BOOST_TEST(service.metric("kvc_coordinator_keys_set_aside") >= 2);
}

BOOST_AUTO_TEST_CASE(a_key_that_a_server_refuses_requests_for_costs_itself_only) {
  // All that were in the request with it were taken for keys that no server deletes, and were set aside with it.
  coordinator_fixture service(evicting());
  stub_mp_server server([](const stub_mp_server::asked& request) -> stub_mp_server::told {
    if (request.body.find("100004") != std::string::npos) return {400, R"({"detail":"bad key"})"};
    return {200, R"({"deleted":1,"skipped":0,"ok":true})"};
  });
  service.join("a", server.port());
  service.call("POST", "/quota/events", batch_text(1, stores(0, 10)));

  // All; two halves; and so on, until the key stands alone.
  const auto requests = server.wait_for(9);
  std::multiset<std::string> taken;
  for (std::size_t i = 0; i < 9; ++i) {
    const std::vector<std::string> hashes = hashes_of(requests[i]);
    if (requests[i].body.find("100004") == std::string::npos) taken.insert(hashes.begin(), hashes.end());
  }
  BOOST_TEST(hashes_of(requests[0]).size() == 10U);
  BOOST_TEST(hashes_of(requests[8]) == (std::vector<std::string>{"100004"}), boost::test_tools::per_element());
  BOOST_TEST(taken.size() == 9U);
  BOOST_TEST(std::set<std::string>(taken.begin(), taken.end()).size() == 9U);
  // From then on it is alone.
  BOOST_TEST(hashes_of(server.wait_for(10).at(9)) == (std::vector<std::string>{"100004"}), boost::test_tools::per_element());
  BOOST_TEST(service.reaches("kvc_coordinator_keys_set_aside", 1));
  BOOST_TEST(service.metric("kvc_coordinator_keys_set_aside") == 1);
  BOOST_TEST(service.metric("kvc_coordinator_keys_in_flight") >= 9);
}

BOOST_AUTO_TEST_CASE(a_server_that_refuses_every_request_is_not_asked_for_each_key) {
  coordinator_fixture service(evicting());
  stub_mp_server server([](const stub_mp_server::asked&) -> stub_mp_server::told { return {422, R"({"detail":[]})"}; });
  service.join("a", server.port());
  service.call("POST", "/quota/events", batch_text(1, stores(0, 64)));

  const auto requests = server.wait_for(16);
  BOOST_TEST(hashes_of(requests[0]).size() == 64U);
  BOOST_TEST(hashes_of(requests[14]).size() == 8U, "eighths");
  BOOST_TEST(hashes_of(requests[15]).size() == 64U, "the next cycle");
}

BOOST_AUTO_TEST_CASE(a_store_proves_that_the_object_is_there) {
  coordinator_fixture service(evicting());
  stub_mp_server server;
  service.join("a", server.port());
  service.call("POST", "/quota/events", batch_text(1, stores(0, 1)));
  (void)server.wait_for(1);

  service.call("POST", "/quota/events", batch_text(2, stores(0, 1)));

  BOOST_TEST(server.wait_for(2).size() >= 2U);
}

BOOST_AUTO_TEST_CASE(without_a_server_the_plan_waits) {
  coordinator_fixture service(evicting());
  service.call("POST", "/quota/events", batch_text(1, stores(0, 2)));
  BOOST_TEST(service.reaches("kvc_coordinator_eviction_cycles_total", 3));
  BOOST_TEST(service.metric("kvc_coordinator_usage_bytes") == 2);

  stub_mp_server server;
  service.join("a", server.port());

  BOOST_TEST(hashes_of(server.wait_for(1).front()).size() == 2U);
}

BOOST_AUTO_TEST_CASE(a_server_that_does_not_answer_is_given_up) {
  coordinator_options options = evicting();
  options.coordinator.call_timeout = std::chrono::milliseconds(200);
  coordinator_fixture service(options);
  stub_mp_server server;
  server.hold();
  service.join("a", server.port());
  service.call("POST", "/quota/events", batch_text(1, stores(0, 1)));
  BOOST_TEST(service.reaches("kvc_coordinator_evictions_failed_total", 1));
  server.resume();
  BOOST_TEST(server.wait_for(2).size() >= 2U);
}

BOOST_AUTO_TEST_CASE(by_bytes_as_much_goes_as_brings_the_usage_under_the_mark) {
  coordinator_options options = evicting();
  options.coordinator.eviction_unit = kvc::core::eviction_unit::bytes;
  options.coordinator.trigger_watermark = 0.5;
  coordinator_fixture service(options);
  stub_mp_server server;
  service.call("PUT", "/quota/s", ten_bytes);
  service.join("a", server.port());
  service.call("POST", "/quota/events", batch_text(1, stores(0, 8)));

  BOOST_TEST(hashes_of(server.wait_for(1).front()) == (std::vector<std::string>{"100000", "100001", "100002", "100003"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(heartbeats_are_answered_while_a_large_plan_is_made) {
  // Planning and sending is done in slices. The bar itself is measured without sanitizers; this only says that nothing waits for the plan.
  coordinator_fixture service(evicting());
  stub_mp_server server;
  server.hold();
  for (int i = 0; i < 50; ++i) {
    service.call("POST", "/quota/events", batch_text(static_cast<std::uint64_t>(i) + 1, stores(i * 1'000, (i + 1) * 1'000)));
  }
  service.join("a", server.port());
  BOOST_TEST(service.reaches("kvc_coordinator_deletion_requests_total", 1));
  BOOST_TEST(service.call("PUT", "/instances/a/heartbeat").status == 200);
  server.resume();
  BOOST_TEST(service.reaches("kvc_coordinator_evictions_sent_total", 50'000));
}

BOOST_AUTO_TEST_CASE(without_a_server_nothing_is_planned) {
  // Planning looks at every key of a tenant, and each cycle would do it again for nothing.
  coordinator_fixture service(evicting());
  service.call("POST", "/quota/events", batch_text(1, stores(0, 2)));
  BOOST_TEST(service.reaches("kvc_coordinator_eviction_cycles_skipped_total", 3));
  BOOST_TEST(service.metric("kvc_coordinator_eviction_cycles_total") >= 3);
  BOOST_TEST(service.metric("kvc_coordinator_evictions_planned_total") == 0);
}

BOOST_AUTO_TEST_CASE(deletions_leave_room_for_other_calls) {
  // A server that takes long to delete still gets the prefetches that clients want of it.
  coordinator_fixture service(evicting());
  stub_mp_server server;
  server.hold();
  service.join("a", server.port());
  for (int i = 0; i < 4; ++i) {
    service.call("POST", "/quota/events", batch_text(static_cast<std::uint64_t>(i) + 1, stores(i, i + 1)));
    BOOST_REQUIRE(service.reaches("kvc_coordinator_deletion_requests_total", i + 1));
  }
  service.call("POST", "/quota/events", batch_text(5, stores(4, 9)));
  BOOST_TEST(service.reaches("kvc_coordinator_eviction_cycles_skipped_total", 3));
  BOOST_TEST(service.metric("kvc_coordinator_deletion_requests_total") == 4);

  std::jthread client([&] { service.call("POST", "/cache/prefetches", R"({"instance_id":"a","model_name":"m","world_size":1})"); });
  BOOST_TEST(server.wait_for(5).back().target == "/cache/prefetches");
  server.resume();
  BOOST_TEST(service.reaches("kvc_coordinator_deletion_requests_total", 5));
}

BOOST_AUTO_TEST_CASE(an_endless_answer_to_a_deletion_is_none) {
  coordinator_fixture service(evicting());
  stub_mp_server server([](const stub_mp_server::asked&) -> stub_mp_server::told {
    return {200, R"({"ok":true,"x":")" + std::string(300'000, 'x') + R"("})"};
  });
  service.join("a", server.port());
  service.call("POST", "/quota/events", batch_text(1, stores(0, 1)));
  BOOST_TEST(service.reaches("kvc_coordinator_deletion_requests_failed_total", 1));
}

BOOST_AUTO_TEST_SUITE_END()
