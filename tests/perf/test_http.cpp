#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "perf/bench_caller.hpp"
#include "perf/bench_options.hpp"
#include "perf/http_load.hpp"
#include "perf/http_neighbour.hpp"
#include "perf/http_questions.hpp"
#include "perf/http_run.hpp"

BOOST_AUTO_TEST_SUITE(http_bench)

using namespace kvc;

namespace {

std::string fault_of(std::vector<std::string> words) {
  words.insert(words.begin(), "http");
  return perf::parse_bench_options(words).error;
}

/// Small, and all on the CPUs there are.
perf::http_load_plan small_plan() {
  perf::http_load_plan plan;
  plan.connections = 3;
  plan.seconds = 1;
  plan.instances = 3;
  plan.blocks = 20'000;
  plan.cache_blocks = 1'000;
  plan.beside = 4'000;
  plan.server_cpu = 0;
  plan.load_cpu = 0;
  plan.program = std::string(KVC_BINARY_DIR) + "/kv-conductor";
  plan.with_yardstick = false;
  return plan;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_small_run_measures_everything) {
  // The benchmark must not rot. That the index holds what the engines do, and that every answer is 200, is checked by the run itself.
  perf::http_load_plan plan = small_plan();
  plan.with_neighbour = true;
  const auto measured = perf::run_http(plan);
  BOOST_REQUIRE_MESSAGE(measured.has_value(), (measured ? std::string() : measured.error()));
  for (const perf::http_workload_name& each : perf::http_workloads) {
    for (const char* figure : {"_closed_per_s", "_closed_ns_p99", "_at_50_percent_achieved_per_s", "_at_50_percent_ns_p50"}) {
      BOOST_TEST_CONTEXT(each.name << figure) {
        BOOST_TEST(measured->median(std::string(each.name) + figure).value_or(0) > 0);
      }
    }
  }
  if (!perf::http_neighbour::find().empty()) {
    BOOST_TEST(measured->median("healthz_of_nginx").value_or(0) > 0);
    BOOST_TEST(*measured->median("nginx_as_query_by_hash_at_50_percent_offered_per_s") ==
               *measured->median("query_by_hash_at_50_percent_offered_per_s"));
  }
  BOOST_TEST(measured->median("beside_ns_p99").value_or(0) > 0);
  BOOST_TEST(measured->median("beside_blocks_per_s").value_or(0) > 0);
}

BOOST_AUTO_TEST_CASE(an_open_loop_counts_the_wait_for_a_connection) {
  // A server that takes 1 connection at a time and is offered more than it can answer: what waited must be in the latency.
  perf::http_load_plan plan = small_plan();
  plan.connections = 1;
  plan.rate = 200'000;
  plan.only = perf::find_http_workload("healthz");
  plan.beside = 0;
  const auto measured = perf::run_http(plan);
  BOOST_REQUIRE_MESSAGE(measured.has_value(), (measured ? std::string() : measured.error()));
  BOOST_TEST(*measured->median("healthz_open_offered_per_s") == 200'000);
  BOOST_TEST(*measured->median("healthz_open_achieved_per_s") < 200'000);
  BOOST_TEST(*measured->median("healthz_open_ns_p50") > 50e6);  // half a second of backlog at the end, most of a second in most runs
}

BOOST_AUTO_TEST_CASE(questions_are_what_they_are_called) {
  const auto body_of = [](const char* name) {
    const std::string request = perf::http_questions({}, *perf::find_http_workload(name)).front();
    return request.substr(request.find("\r\n\r\n") + 4);
  };
  const auto commas = [](const std::string& text) { return std::count(text.begin(), text.end(), ','); };
  BOOST_TEST(commas(body_of("query_by_hash")) == 128 - 1 + 2);
  BOOST_TEST(commas(body_of("query_json")) == 4'096 - 1 + 2);
  BOOST_TEST(commas(body_of("query_long")) == 131'072 - 1 + 2);
  BOOST_TEST(body_of("query_msgpack").size() > 4U * 4'096);
}

BOOST_AUTO_TEST_CASE(lengths_are_found_in_heads_of_any_server) {
  BOOST_TEST(perf::answer_length("HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n") == 20U);
  BOOST_TEST(perf::answer_length("HTTP/1.1 200 OK\r\nserver: x\r\ncontent-length: 7\r\n\r\n") == 7U);
  BOOST_CHECK_THROW(static_cast<void>(perf::answer_length("HTTP/1.1 200 OK\r\nX-Content-Length: 7\r\n\r\n")), std::runtime_error);
}

BOOST_AUTO_TEST_CASE(wrong_flags_are_told) {
  BOOST_TEST(fault_of({"--workload", "nothing"}).find("it is one of") == std::string::npos);
  BOOST_TEST(fault_of({"--workload", "nothing"}).find("query_by_hash") != std::string::npos);
  BOOST_TEST(fault_of({"--closed", "--rate", "5"}).find("--closed") != std::string::npos);
  BOOST_TEST(fault_of({"--connections", "0"}).find("--connections") != std::string::npos);
  BOOST_TEST(fault_of({}).empty());
}

BOOST_AUTO_TEST_SUITE_END()
