// Texts that stores are asked with and answer, and which keys they are asked for together.
#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "net/halving.hpp"
#include "net/master_answers.hpp"
#include "net/store_url.hpp"

namespace kvc::test {
BOOST_AUTO_TEST_SUITE(store_units)

namespace {

using enum core::replica_kind;
using enum core::replica_state;

net::placement one(std::string_view entry) {
  const auto all = net::read_placements("{\"success\":true,\"data\":{\"k\":" + std::string(entry) + "}}", {"k"});
  return all ? all->front() : net::placement();
}

}  // namespace

BOOST_AUTO_TEST_CASE(urls_are_http_with_a_host) {
  const auto url = net::parse_store_url("http://master.example:9003/admin/");
  BOOST_REQUIRE(url);
  BOOST_TEST(url->host == "master.example");
  BOOST_TEST(url->port == 9'003);
  BOOST_TEST(url->path == "/admin");
  BOOST_TEST(net::parse_store_url("http://[::1]:80")->host == "::1");
  BOOST_TEST(net::parse_store_url("http://h")->port == 80);
  for (const char* const bad :
       {"", "h:1", "https://h", "http://", "http://:80", "http://h:0", "http://h:65536", "http://h:8x", "http://a b", "http://u@h",
        "http://h/?q", "http://h/ ", "http://[::1", "http://[zz]", "http://h/\r\nX: y"}) {
    BOOST_TEST(!net::parse_store_url(bad), bad);
  }
}

BOOST_AUTO_TEST_CASE(leaders_are_found_in_whatever_words_they_are_told) {
  // A version or a time is no address, and a member that says leader is meant before any other.
  for (const char* const answer :
       {R"({"leader":"http://10.0.0.2:9003"})", "10.0.0.2:9003\n", R"({"leader_address":"10.0.0.2"})",
        R"({"version":"0.3.10","leader":"10.0.0.2:9003"})", R"({"timestamp":1763921.5,"leader_address" : "10.0.0.2"})",
        R"({"timestamp":1763921.5,"10.0.0.2":1})", R"({"etcd":"10.0.0.9:2379","leader":{"version":"1.2.3.4","Address":"10.0.0.2"}})",
        R"({"asked":"10.0.0.1:9003","current_leader":"10.0.0.2:9003"})"}) {
    const auto leaders = net::find_addresses(answer, 9'003);
    BOOST_REQUIRE_MESSAGE(!leaders.empty(), answer);
    BOOST_TEST(leaders.front().host == "10.0.0.2", answer);
    BOOST_TEST(leaders.front().port == 9'003, answer);
  }
  BOOST_TEST(net::find_addresses(R"({"error":"no leader yet"})", 1).empty());
  BOOST_TEST(net::find_addresses("", 1).empty());
  BOOST_TEST(net::find_addresses(R"({"leader":"?","version":"0.3.10"})", 1).empty());
  BOOST_TEST(net::find_addresses(R"(["a.example:1","b.example:2"])", 1).size() == 2U);
}

BOOST_AUTO_TEST_CASE(a_path_that_is_asked_for_is_kept_as_written) {
  BOOST_TEST(net::parse_store_url("http://h/", net::path_end::kept)->path == "/");
  BOOST_TEST(net::parse_store_url("http://h/move/", net::path_end::kept)->path == "/move/");
  BOOST_TEST(net::parse_store_url("http://h", net::path_end::kept)->path.empty());
}

BOOST_AUTO_TEST_CASE(keys_are_asked_for_in_the_ways_of_each_route) {
  BOOST_TEST(net::locate_target("", {"a@b/c", "d e"}, "default") == "/batch_query_keys?keys=a%40b%2Fc,d%20e");
  BOOST_TEST(net::locate_target("/x", {"a"}, "ada") == "/x/batch_query_keys?keys=a&tenant_id=ada");
  BOOST_TEST(*net::touch_target("", "a@b%2C/c", "default") == "/query_key?key=a@b%2C/c");
  BOOST_TEST(!net::touch_target("", "a b", "default"));
  BOOST_TEST(!net::touch_target("", "a&b", "default"));
  BOOST_TEST(!net::touch_target("", "a\r\nb", "default"));
  BOOST_TEST(net::goes_alone("a,b"));
}

BOOST_AUTO_TEST_CASE(placements_are_read_with_kinds_places_and_size) {
  const net::placement found = one(
      R"({"ok":true,"values":[{"size_":7,"transport_endpoint_":"h:1"}],"disk_values":[],"local_disk_values":[{"object_size":9,"transport_endpoint":"h:2"}]})");
  BOOST_TEST(found.is_known);
  BOOST_REQUIRE(found.replicas.size() == 2U);
  BOOST_TEST(found.replicas[0].location == "h:1");
  BOOST_TEST(found.set().has(memory, complete));
  BOOST_TEST(found.set().has(local_disk, complete));
  BOOST_TEST(!found.set().has(disk, complete));
  BOOST_TEST(found.bytes == 9U);
}

BOOST_AUTO_TEST_CASE(what_is_gone_and_what_is_not_told_are_two_things) {
  BOOST_TEST(one(R"({"ok":false,"error":"OBJECT_NOT_FOUND"})").is_known);
  BOOST_TEST(one(R"({"ok":false,"error":"object not found"})").is_known);
  BOOST_TEST(one(R"({"ok":false,"error":-704})").is_known);
  BOOST_TEST(one(R"({"ok":true,"values":[],"disk_values":[],"local_disk_values":[]})").is_known);
  BOOST_TEST(one(R"({"ok":false,"error":"REPLICA_IS_NOT_READY"})").set().has(memory, in_flight));
  for (const char* const unknown :
       {R"({"ok":false,"error":"INTERNAL_ERROR"})", "7", "null", "[]", R"({"ok":true})", R"({"ok":true,"values":1})"}) {
    BOOST_TEST(!one(unknown).is_known, unknown);
  }
  BOOST_TEST(!net::read_placements("garbage", {"k"}));
  BOOST_TEST(!net::read_placements(R"({"success":false,"data":{}})", {"k"}));
  BOOST_TEST(!net::read_placements("{}", {"k"})->front().is_known);
  // Each key is looked for among all members: an answer with hundreds of thousands would take a lane for seconds.
  std::string much = R"({"success":true,"data":{"k":{"ok":true,"values":[]})";
  for (int i = 0; i < 1'000; ++i) much += ",\"" + std::to_string(i) + "\":0";
  BOOST_TEST(!net::read_placements(much + "}}", {"k"}));
}

BOOST_AUTO_TEST_CASE(the_look_up_of_a_single_key_tells_what_is_in_memory) {
  const net::placement found = net::read_single(200, "{\"size_\":7,\"transport_endpoint_\":\"h:1\"}\n{\"size_\":7}\n");
  BOOST_TEST(found.is_known);
  BOOST_TEST(found.tells_memory_only);
  BOOST_REQUIRE(found.replicas.size() == 2U);
  BOOST_TEST(found.replicas[0].location == "h:1");
  BOOST_TEST(found.bytes == 7U);
  BOOST_TEST(net::read_single(200, "").tells_memory_only);
  BOOST_TEST(net::read_single(200, "").replicas.empty());
  BOOST_TEST(net::read_single(404, "OBJECT_NOT_FOUND").is_known);
  BOOST_TEST(!net::read_single(404, "OBJECT_NOT_FOUND").tells_memory_only);
  BOOST_TEST(net::read_single(404, "REPLICA_IS_NOT_READY").set().has(memory, in_flight));
  for (const char* of_another : {"", "{}", "404 page not found", "<html><title>404 Not Found</title></html>"})
    BOOST_TEST(!net::read_single(404, of_another).is_known, of_another);
  BOOST_TEST(!net::read_single(500, "").is_known);
  BOOST_TEST(!net::read_single(200, "<html>").is_known);
}

BOOST_AUTO_TEST_CASE(a_list_that_is_refused_is_asked_for_in_halves) {
  // Who is to blame ends alone, and everybody else is taken once.
  using places = std::set<std::size_t>;
  for (const places& bad : {places{4'711}, places{0, 9'999}, places{77, 78, 5'000}}) {
    net::halving parts(10'000);
    std::vector<int> taken(10'000);
    places refused;
    std::size_t asked = 0;
    while (const auto some = parts.next()) {
      ++asked;
      const auto first_bad = bad.lower_bound(some->from);
      if (first_bad == bad.end() || *first_bad >= some->to) {
        parts.note_taken();
        for (std::size_t i = some->from; i < some->to; ++i) ++taken[i];
      } else if (!parts.halve(*some)) {
        BOOST_TEST(some->size() == 1U);
        refused.insert(some->from);
      }
    }
    BOOST_TEST((refused == bad));
    BOOST_TEST(std::ranges::count(taken, 1) == static_cast<std::ptrdiff_t>(10'000 - bad.size()));
    BOOST_TEST(asked <= 1 + 28 * bad.size());
  }
}

BOOST_AUTO_TEST_CASE(what_nothing_is_taken_of_is_not_asked_for_one_by_one) {
  net::halving parts(10'000);
  std::size_t asked = 0;
  std::size_t given_up = 0;
  while (const auto some = parts.next()) {
    ++asked;
    if (!parts.halve(*some)) given_up += some->size();
  }
  BOOST_TEST(asked == 15U);
  BOOST_TEST(given_up == 10'000U);
  BOOST_TEST(!net::halving(0).next().has_value());

  for (const unsigned status : {400U, 404U, 413U, 422U, 500U}) BOOST_TEST(net::may_be_for_an_entry(status), status);
  for (const unsigned status : {200U, 302U, 401U, 403U, 405U, 408U, 429U, 501U, 503U}) {
    BOOST_TEST(!net::may_be_for_an_entry(status), status);
  }
}

BOOST_AUTO_TEST_CASE(refusals_for_memory_are_summed) {
  BOOST_TEST(net::read_watermark_rejections("# HELP promotion_rejected_by_watermark 5\nx 7\n"
                                            "master_promotion_rejected_by_watermark_total 3\n"
                                            "master_promotion_rejected_by_watermark_total{a=\"b\"} 4.0\n"
                                            "master_promotion_rejected_by_queue_total 9\n") == 7U);
  BOOST_TEST(net::read_watermark_rejections("promotion_rejected_by_watermark nonsense") == 0U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kvc::test
