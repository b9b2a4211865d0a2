// The watch for hash recipes, as whoever runs the service sees it: each verdict in the log, the metrics and /services.
#include <chrono>
#include <cstdint>
#include <mutex>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "net/log.hpp"
#include "tests/support/net/payloads.hpp"
#include "tests/support/net/report_fixture.hpp"

BOOST_AUTO_TEST_SUITE(stream_recipes)

namespace {

using namespace kvc;
using kvc::test::fake_publisher;
using kvc::test::stored_payload;
using kvc::test::tokens_from;

bool has(const test::raw_answer& answer, std::string_view part) {
  return answer.body.find(part) != std::string::npos;
}

test::api_settings compared_often() {
  test::api_settings settings;
  settings.streams.recipe_check = std::chrono::milliseconds(20);
  return settings;
}

/// Whose members are compared all the time.
struct recipe_fixture : test::report_fixture {
  recipe_fixture() : report_fixture(compared_often()) {}
};

/// Eight prompts of one block each.
void publish_roots(fake_publisher& who, std::uint64_t first_name, std::uint32_t first_token = 0) {
  for (std::uint32_t i = 0; i < 8; ++i) who.publish(stored_payload({first_name + i}, {}, tokens_from(first_token + i * 4, 1)));
}

/// The same 20 blocks behind a first one that begins with this token.
void publish_behind(fake_publisher& who, std::uint32_t first_token) {
  std::vector<std::uint32_t> tokens = tokens_from(first_token, 1);
  const std::vector<std::uint32_t> shared = tokens_from(0, 20);
  tokens.insert(tokens.end(), shared.begin(), shared.end());
  std::vector<std::uint64_t> names(21);
  std::iota(names.begin(), names.end(), std::uint64_t{first_token});
  who.publish(stored_payload(names, {}, tokens));
}

/// What the watch for hash recipes logs, and how loudly. Takes the place of the log while it lives.
class recipe_log {
 public:
  struct entry {
    net::log::level severity{};
    std::string line;
  };

  recipe_log() {
    net::log::set_sink([this](net::log::level severity, std::string_view line) {
      const std::lock_guard lock(guard_);
      entries_.push_back({severity, std::string(line)});
    });
  }
  ~recipe_log() { net::log::set_sink({}); }
  recipe_log(const recipe_log&) = delete;
  recipe_log& operator=(const recipe_log&) = delete;

  [[nodiscard]] std::vector<entry> about(const std::string& instance) const {
    const std::lock_guard lock(guard_);
    std::vector<entry> found;
    for (const entry& each : entries_) {
      const bool is_of_watch = each.line.find("hash recipe instance=" + instance + " ") != std::string::npos;
      if (is_of_watch) found.push_back(each);
    }
    return found;
  }

 private:
  mutable std::mutex guard_;
  std::vector<entry> entries_;
};

}  // namespace

BOOST_AUTO_TEST_CASE(every_verdict_on_hashes_is_told_in_the_log_the_metrics_and_services) {
  // Everybody else misses silently, and an operator looks in one of these places only.
  struct row {
    const char* verdict;
    void (*publish)(fake_publisher& judged, fake_publisher& other);
    net::log::level severity;
    const char* figures;  ///< of /services
  };
  const std::vector<row> rows{
      {"agrees",
       [](fake_publisher& judged, fake_publisher& other) {
         publish_roots(judged, 1);
         publish_roots(other, 1);
       },
       net::log::level::info, R"("shared_roots":8,"agreeing_roots":8,"shared_blocks":0,"contradictions":0})"},
      {"names_differ",
       [](fake_publisher& judged, fake_publisher& other) {
         publish_roots(judged, 1);
         publish_roots(other, 100);
       },
       net::log::level::warn, R"("shared_roots":8,"agreeing_roots":0,"shared_blocks":0,"contradictions":0})"},
      {"chains_differ",
       [](fake_publisher& judged, fake_publisher& other) {
         publish_behind(judged, 9'000);
         publish_behind(other, 9'500);
       },
       net::log::level::warn, R"("shared_roots":0,"agreeing_roots":0,"shared_blocks":20,"contradictions":0})"},
      {"contradicts_tokens",
       [](fake_publisher& judged, fake_publisher& other) {
         publish_roots(judged, 1);
         publish_roots(judged, 100);  // the same contents
         publish_roots(other, 1);
       },
       net::log::level::warn, R"("shared_roots":8,"agreeing_roots":8,"shared_blocks":0,"contradictions":8})"},
  };
  for (const row& each : rows) {
    BOOST_TEST_CONTEXT(each.verdict) {
      const recipe_log log;
      recipe_fixture under_test;
      fake_publisher judged(under_test.engine, under_test.context, {});
      fake_publisher other(under_test.engine, under_test.context, {});
      each.publish(judged, other);
      under_test.enrol(judged, "judged");
      BOOST_REQUIRE(under_test.eventually([&] { return has(under_test.get("/workers"), R"("state":"whole")"); }));
      under_test.enrol(other, "other");

      const std::string shown = R"("hash_recipe":{"verdict":")" + std::string(each.verdict) + R"(",)" + each.figures;
      const auto services = [&] { return under_test.get("/services?instance_id=judged"); };
      BOOST_TEST(under_test.eventually([&] { return has(services(), shown); }), services().body);
      const std::string series = R"(kvc_stream_hash_recipe{tenant="default",instance="judged",rank="0",class="engine",verdict=")";
      const auto metrics = under_test.get("/metrics");
      BOOST_TEST(has(metrics, series + each.verdict + "\"} 1\n"));
      BOOST_TEST(metrics.body.find(series) == metrics.body.rfind(series));  // and no other verdict

      // Once, since it did not change, and as loud as it deserves.
      BOOST_TEST(under_test.eventually([&] { return !log.about("judged").empty(); }));
      const auto all = log.about("judged");
      BOOST_TEST_REQUIRE(all.size() == 1U);
      for (const char* part : {"tenant=default", "dp_rank=0", "model=m", "shared_roots=", "contradictions="}) {
        BOOST_TEST(all[0].line.find(part) != std::string::npos, all[0].line);
      }
      BOOST_TEST(all[0].line.find(" verdict=" + std::string(each.verdict) + " ") != std::string::npos, all[0].line);
      BOOST_TEST((all[0].severity == each.severity));
    }
  }
}

BOOST_AUTO_TEST_CASE(engines_with_nothing_in_common_are_not_judged) {
  // Other prompts are no other recipe. Who shares some with a third is judged by those: then the round of comparing has been made.
  const recipe_log log;
  recipe_fixture under_test;
  fake_publisher alone(under_test.engine, under_test.context, {});
  fake_publisher first(under_test.engine, under_test.context, {});
  fake_publisher second(under_test.engine, under_test.context, {});
  publish_roots(alone, 1, 5'000);
  publish_roots(first, 1);
  publish_roots(second, 1);
  under_test.enrol(alone, "alone");
  BOOST_REQUIRE(under_test.eventually([&] { return has(under_test.get("/services"), R"("blocks":{"GPU":8,)"); }));
  under_test.enrol(first, "first");
  under_test.enrol(second, "second");

  const auto is_judged = [&](const std::string& who) {
    return has(under_test.get("/services?instance_id=" + who), R"("hash_recipe":{"verdict":"agrees")");
  };
  BOOST_TEST(under_test.eventually([&] { return is_judged("first") && is_judged("second"); }));
  BOOST_TEST(has(under_test.get("/services?instance_id=alone"), R"("hash_recipe":{"verdict":"unknown")"));
  BOOST_TEST(has(under_test.get("/metrics"), R"(instance="alone",rank="0",class="engine",verdict="unknown"} 1)"));
  BOOST_TEST(log.about("alone").empty());
}

BOOST_AUTO_TEST_SUITE_END()
