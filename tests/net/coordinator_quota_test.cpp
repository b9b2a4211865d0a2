// Quotas and usage over sockets: rows of the specification.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/test/unit_test.hpp>

#include "tests/support/net/coordinator_fixture.hpp"
#include "tests/support/temporary_folder.hpp"

BOOST_AUTO_TEST_SUITE(coordinator_quota)

namespace {

using namespace kvc::test;

constexpr std::uint64_t gib = 1'073'741'824;

std::string contents_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_salt_that_is_no_text_is_refused) {
  // It would stand in answers and metrics, which are text; the client is told in the form of the coordinator's other errors.
  coordinator_fixture service;
  for (const char* path : {"/quota/%ff", "/quota/%zz", "/quota/a%", "/instances/%fe/heartbeat"}) {
    const raw_answer refused = service.call("PUT", path, R"({"limit_gb":1})");
    BOOST_TEST(refused.status == 400, path);
    BOOST_TEST(refused.body.starts_with(R"({"detail":"the request target)"), refused.body);
  }
  BOOST_TEST(service.call("PUT", "/quota/%C3%A9", R"({"limit_gb":1})").body ==
             "{\"cache_salt\":\"\xC3\xA9\",\"limit_gb\":1,\"status\":\"ok\"}");
  BOOST_TEST(service.call("GET", "/workers?instance_id=%ff").body.find(R"("reason":"invalid_value")") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_quota_is_set_read_and_removed) {
  coordinator_fixture service;
  const auto fresh = json_of(service.call("GET", "/quota/user-a"));
  BOOST_TEST(fresh.at("quota_exists").as_bool() == false);
  BOOST_TEST(fresh.at("quota_limit_gb").to_number<double>() == 0.0);
  BOOST_TEST(fresh.at("usage_gb").to_number<double>() == 0.0);

  const raw_answer set = service.call("PUT", "/quota/user-a", R"({"limit_gb":10.5,"tier":"l2"})");
  BOOST_TEST(set.status == 200);
  BOOST_TEST(set.body == R"({"cache_salt":"user-a","limit_gb":10.5,"status":"ok"})");
  const auto read = json_of(service.call("GET", "/quota/user-a?tier=l2"));
  BOOST_TEST(read.at("quota_exists").as_bool());
  BOOST_TEST(read.at("quota_limit_gb").to_number<double>() == 10.5);

  const auto removed = json_of(service.call("DELETE", "/quota/user-a"));
  BOOST_TEST(removed.at("status").as_string() == "removed");
  BOOST_TEST(removed.at("limit_gb").to_number<double>() == 0.0);
  const raw_answer twice = service.call("DELETE", "/quota/user-a");
  BOOST_TEST(twice.status == 200);
  BOOST_TEST(json_of(twice).at("status").as_string() == "not_found");
}

BOOST_AUTO_TEST_CASE(limits_are_kept_in_whole_bytes_and_echoed_as_sent) {
  coordinator_fixture service;
  const auto set = json_of(service.call("PUT", "/quota/_default", R"({"limit_gb":"1e-9"})"));
  BOOST_TEST(set.at("cache_salt").as_string() == "", "_default stands for the empty salt");
  BOOST_TEST(set.at("limit_gb").to_number<double>() == 1e-9);
  const raw_answer read = service.call("GET", "/quota/_default");
  BOOST_TEST(json_of(read).at("cache_salt").as_string() == "");
  BOOST_TEST(read.body.find(R"("quota_limit_gb":9.313225746154785e-10,)") != std::string::npos, read.body);

  // Half a byte more or less decides; the last bit of a number counts.
  service.call("PUT", "/quota/exact", R"({"limit_gb":9.313225746154785e-10})");
  BOOST_TEST(service.call("GET", "/quota/exact").body.find("9.313225746154785e-10") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(limits_that_are_none) {
  coordinator_fixture service;
  for (const char* limit : {"NaN", "Infinity", "-Infinity", "1e300", "\"nan\"", "\"inf\""}) {
    const raw_answer refused = service.call("PUT", "/quota/s", R"({"limit_gb":)" + std::string(limit) + "}");
    BOOST_TEST(refused.status == 400, limit);
    BOOST_TEST(refused.body == R"({"error":"invalid quota limit"})", limit);
  }
  for (const char* limit : {"-1", "-0.5", "null", "[]", "\"much\""}) {
    BOOST_TEST(service.call("PUT", "/quota/s", R"({"limit_gb":)" + std::string(limit) + "}").status == 422, limit);
  }
  const auto fault = json_of(service.call("PUT", "/quota/s", R"({"limit_gb":-1})")).at("detail").at(0);
  BOOST_TEST((fault == boost::json::parse(R"({"type":"greater_than_equal","loc":["body","limit_gb"],
    "msg":"Input should be greater than or equal to 0","input":-1,"ctx":{"ge":0}})")));
  BOOST_TEST(json_of(service.call("GET", "/quota/s")).at("quota_exists").as_bool() == false);
}

BOOST_AUTO_TEST_CASE(only_l2_has_quotas) {
  coordinator_fixture service;
  for (const std::string_view tier : {"l1", "all"}) {
    const std::string sentence = R"({"detail":"tier ')" + std::string(tier) + R"(' not supported; only 'l2'"})";
    const raw_answer set = service.call("PUT", "/quota/s", R"({"limit_gb":1,"tier":")" + std::string(tier) + "\"}");
    BOOST_TEST(set.status == 400);
    BOOST_TEST(set.body == sentence);
    BOOST_TEST(service.call("GET", "/quota?tier=" + std::string(tier)).status == 400);
    BOOST_TEST(service.call("GET", "/quota/s?tier=" + std::string(tier)).body == sentence);
    BOOST_TEST(service.call("DELETE", "/quota/s?tier=" + std::string(tier)).status == 400);
  }
  for (const char* target : {"/quota?tier=l9", "/quota?tier=", "/quota/s?tier=L2"}) {
    const raw_answer refused = service.call("GET", target);
    BOOST_TEST(refused.status == 422, target);
    const auto fault = json_of(refused).at("detail").at(0);
    BOOST_TEST(fault.at("type").as_string() == "enum");
    BOOST_TEST((fault.at("loc") == boost::json::array{"query", "tier"}));
    BOOST_TEST(fault.at("ctx").at("expected").as_string() == "'l1', 'l2' or 'all'");
  }
  BOOST_TEST(service.call("PUT", "/quota/s", R"({"limit_gb":1,"tier":"l3"})").status == 422);
}

BOOST_AUTO_TEST_CASE(every_salt_with_bytes_or_a_quota_is_listed_once_in_order) {
  coordinator_fixture service;
  BOOST_TEST(service.call("GET", "/quota").body == R"({"total_gb":0,"by_cache_salt":[]})");
  service.call("PUT", "/quota/b", R"({"limit_gb":2})");
  service.call("PUT", "/quota/quota-only", R"({"limit_gb":1})");
  service.call("POST", "/quota/events",
               batch_text(1, event_text("store", "01", gib, "b") + "," + event_text("store", "02", gib / 2, "") + "," +
                                 event_text("store", "03", 0, "empty objects") + "," + event_text("store", "04", gib / 4, "\xc3\xa9")));

  const auto all = json_of(service.call("GET", "/quota"));
  BOOST_TEST(all.at("total_gb").to_number<double>() == 1.75);
  std::string seen;
  for (const auto& each : all.at("by_cache_salt").as_array()) seen += "[" + std::string(each.at("cache_salt").as_string()) + "]";
  BOOST_TEST(seen == "[][b][quota-only][\xc3\xa9]");
  const auto b = all.at("by_cache_salt").at(1);
  BOOST_TEST(b.at("quota_limit_gb").to_number<double>() == 2.0);
  BOOST_TEST(b.at("usage_gb").to_number<double>() == 1.0);
  BOOST_TEST(b.at("quota_exists").as_bool());
  BOOST_TEST(all.at("by_cache_salt").at(0).at("quota_exists").as_bool() == false);
}

BOOST_AUTO_TEST_CASE(a_long_listing_is_complete) {
  // Longer than what is made in one turn of the lane.
  coordinator_fixture service;
  std::string events;
  constexpr int salts = 3'000;
  for (int i = 0; i < salts; ++i) events += (i == 0 ? "" : ",") + event_text("store", "aa", 1, "salt-" + std::to_string(i));
  BOOST_TEST(service.call("POST", "/quota/events", batch_text(1, events)).status == 200);
  const raw_answer list = service.call("GET", "/quota");
  BOOST_TEST(list.header("content-length") == std::to_string(list.body.size()), "it is one piece");
  BOOST_TEST(json_of(list).at("by_cache_salt").as_array().size() == salts);
}

BOOST_AUTO_TEST_CASE(a_listing_of_any_length_is_sent_in_pieces) {
  // What a slow reader has not taken yet must not lie in memory as a whole, once for each reader.
  coordinator_fixture service;
  constexpr int salts = 20'000;
  std::string events;
  std::string expected;
  for (int i = 0; i < salts; ++i) {
    const std::string salt = "salt-" + std::to_string(100'000 + i) + std::string(80, 's');
    events += (i == 0 ? "" : ",") + event_text("store", "aa", i % 10 == 0 ? 0 : gib, salt);  // some are not listed
    if (i % 10 == 0) continue;
    expected += (expected.empty() ? R"({"cache_salt":")" : R"(,{"cache_salt":")") + salt +
                R"(","quota_limit_gb":0,"quota_exists":false,"usage_gb":1})";
  }
  expected = R"({"total_gb":)" + std::to_string(salts / 10 * 9) + R"(,"by_cache_salt":[)" + expected + "]}";
  BOOST_REQUIRE(service.call("POST", "/quota/events", batch_text(1, events)).status == 200);

  raw_client client(service.port());
  const raw_answer list = client.ask("GET", "/quota?tier=l2");
  BOOST_TEST(list.status == 200);
  BOOST_TEST(list.header("content-type") == "application/json");
  BOOST_TEST(list.header("transfer-encoding") == "chunked");
  BOOST_TEST((list.body == expected));
  BOOST_TEST(client.ask("GET", "/quota?tier=l1").status == 400, "the connection is in order");
}

BOOST_AUTO_TEST_CASE(a_listing_goes_on_behind_long_salts) {
  // A turn of the lane has enough after one of them; those that come and go meanwhile may be in the list or not.
  coordinator_fixture service;
  constexpr int salts = 150;
  std::string expected;
  for (int i = 0; i < salts; ++i) {
    const std::string salt = std::to_string(1'000 + i) + std::string(10'000, 'x');
    BOOST_REQUIRE(service.call("PUT", "/quota/" + salt, R"({"limit_gb":2})").status == 200);
    expected += (i == 0 ? "" : ",") + (R"({"cache_salt":")" + salt) + R"(","quota_limit_gb":2,"quota_exists":true,"usage_gb":0})";
  }
  const raw_answer list = service.call("GET", "/quota");
  BOOST_TEST(list.header("transfer-encoding") == "chunked");
  BOOST_TEST((list.body == R"({"total_gb":0,"by_cache_salt":[)" + expected + "]}"));
}

BOOST_AUTO_TEST_CASE(any_salt_may_stand_in_the_path) {
  // Though no key can carry some of these; `events` is a salt wherever no route of its own takes the method.
  coordinator_fixture service;
  const std::string longest(300, 'x');
  for (const std::string& salt : {std::string("bad@salt"), longest, std::string("events")}) {
    BOOST_TEST(service.call("PUT", "/quota/" + salt, R"({"limit_gb":1})").status == 200, salt);
    BOOST_TEST(json_of(service.call("GET", "/quota/" + salt)).at("quota_exists").as_bool(), salt);
    BOOST_TEST(json_of(service.call("DELETE", "/quota/" + salt)).at("cache_salt").as_string() == salt);
  }
  BOOST_TEST(json_of(service.call("PUT", "/quota/a%20%C3%A9", R"({"limit_gb":1})")).at("cache_salt").as_string() == "a \xc3\xa9");
}

BOOST_AUTO_TEST_CASE(salts_without_a_quota_can_be_exempt) {
  coordinator_fixture service;
  BOOST_TEST(json_of(service.call("GET", "/quota/config")).at("default_limit_gb").to_number<double>() == 0.0);
  BOOST_TEST(service.call("PUT", "/quota/config", R"({"default_limit_gb":null})").body == R"({"default_limit_gb":null})");
  BOOST_TEST(service.call("GET", "/quota/config").body == R"({"default_limit_gb":null})");
  BOOST_TEST(json_of(service.call("PUT", "/quota/config", R"({"default_limit_gb":2.5})")).at("default_limit_gb").to_number<double>() ==
             2.5);
  for (const char* body : {"{}", R"({"default_limit_gb":-1})", R"({"default_limit_gb":"x"})", "[]", ""}) {
    BOOST_TEST(service.call("PUT", "/quota/config", body).status == 422, body);
  }
  BOOST_TEST(service.call("PUT", "/quota/config", R"({"default_limit_gb":Infinity})").status == 400);
  BOOST_TEST(service.call("DELETE", "/quota/config").status == 405, "the word is reserved");
  BOOST_TEST(json_of(service.call("GET", "/quota/config")).at("default_limit_gb").to_number<double>() == 2.5);
}

BOOST_AUTO_TEST_CASE(quotas_outlive_the_process_when_that_is_wanted) {
  // Without them, everything would be deleted after a restart.
  const temporary_folder folder;
  coordinator_options options;
  options.coordinator.quota_file = (folder.path() / "quotas.json").string();
  {
    coordinator_fixture service(options);
    BOOST_TEST(service.call("PUT", "/quota/a", R"({"limit_gb":1e-9})").status == 200);
    BOOST_TEST(contents_of(options.coordinator.quota_file).find("\"a\"") != std::string::npos, "it is on the disk before the answer");
    service.call("PUT", "/quota/_default", R"({"limit_gb":3.25})");
    service.call("PUT", "/quota/gone", R"({"limit_gb":1})");
    service.call("DELETE", "/quota/gone");
    service.call("PUT", "/quota/config", R"({"default_limit_gb":null})");
  }

  coordinator_fixture service(options);
  BOOST_TEST(service.call("GET", "/quota/a").body.find("9.313225746154785e-10") != std::string::npos);
  BOOST_TEST(json_of(service.call("GET", "/quota/_default")).at("quota_limit_gb").to_number<double>() == 3.25);
  BOOST_TEST(json_of(service.call("GET", "/quota/gone")).at("quota_exists").as_bool() == false);
  BOOST_TEST(service.call("GET", "/quota/config").body == R"({"default_limit_gb":null})");
}

BOOST_AUTO_TEST_CASE(a_quota_file_that_cannot_be_understood_stops_the_start) {
  // To go on without the quotas would delete what they protect.
  const temporary_folder folder;
  coordinator_options options;
  options.coordinator.quota_file = (folder.path() / "quotas.json").string();
  for (const char* text :
       {"", "{", "[]", R"({"default_limit_gb":0})", R"({"default_limit_gb":-1,"quotas":[]})",
        R"({"default_limit_gb":0,"quotas":[{"cache_salt":1,"limit_gb":1}]})",
        R"({"default_limit_gb":0,"quotas":[{"cache_salt":"a","limit_gb":"NaN"}]})",
        R"({"default_limit_gb":0,"quotas":[{"cache_salt":"a","limit_gb":"5"}]})", R"({"default_limit_gb":true,"quotas":[]})",
        R"({"default_limit_gb":0,"quotas":[{"cache_salt":"a","limit_gb":1},{"cache_salt":"a","limit_gb":2}]})"}) {
    std::ofstream(options.coordinator.quota_file) << text;
    BOOST_CHECK_THROW(coordinator_fixture{options}, std::runtime_error);
  }
}

BOOST_AUTO_TEST_CASE(a_quota_file_that_cannot_be_looked_at_is_not_one_that_is_missing) {
  // As above: without the quotas it may hold, everything would be deleted.
  const temporary_folder folder;
  coordinator_options options;
  const std::string loop = folder.file("loop");
  std::filesystem::create_symlink(loop, loop);
  for (const std::string& path : {loop, loop + "/quotas.json", folder.path().string()}) {
    options.coordinator.quota_file = path;
    BOOST_CHECK_THROW(coordinator_fixture{options}, std::runtime_error);
  }
}

BOOST_AUTO_TEST_CASE(a_quota_that_could_not_be_written_is_not_confirmed) {
  const temporary_folder folder;
  coordinator_options options;
  options.coordinator.quota_file = (folder.path() / "missing" / "quotas.json").string();
  coordinator_fixture service(options);
  const raw_answer failed = service.call("PUT", "/quota/a", R"({"limit_gb":1})");
  BOOST_TEST(failed.status == 500);
  BOOST_TEST(json_of(failed).at("detail").is_string());
  BOOST_TEST(service.metric("kvc_coordinator_quota_file_failures_total") == 1);
}

BOOST_AUTO_TEST_SUITE_END()
