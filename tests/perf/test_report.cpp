#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "perf/bench_options.hpp"
#include "perf/e2e_run.hpp"
#include "perf/micro_run.hpp"
#include "perf/plot_scale.hpp"
#include "perf/plot_svg.hpp"
#include "perf/report_figures.hpp"
#include "perf/report_plots.hpp"
#include "perf/report_run.hpp"
#include "perf/report_scale.hpp"
#include "perf/sim_dialect.hpp"
#include "tests/support/temporary_folder.hpp"

BOOST_AUTO_TEST_SUITE(reporting)

using namespace kvc;

namespace {

const std::string server = std::string(KVC_BINARY_DIR) + "/kv-conductor";

std::string fault_of(const std::vector<std::string>& words) {
  return perf::parse_bench_options(words).error;
}

std::string contents(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

perf::micro_plan small_micro() {
  return {.milliseconds = 5, .with_yardstick = false};
}

/// Costs in round numbers.
constexpr perf::scale_costs round_costs{.block_ns = 1'000, .query_ns = 100'000, .entry_bytes = 100, .stream_bytes = 0, .stream_idle_ns = 0};

perf::report_plan round_plan() {
  perf::report_plan plan;
  plan.cores = 10;
  plan.memory_gib = 10;
  plan.engine_blocks = 1'000;
  plan.engine_events = 100;
  plan.engine_queries = 0;
  return plan;
}

}  // namespace

BOOST_AUTO_TEST_CASE(decoding_is_measured_in_every_form) {
  const auto measured = perf::run_codec(small_micro());
  BOOST_REQUIRE_MESSAGE(measured.has_value(), (measured ? std::string() : measured.error()));
  for (const sim::form_traits& each : sim::all_forms()) {
    for (const char* figure : {"_decode_ns_per_event", "_decode_ns_per_block", "_scan_ns_per_block", "_library_ns_per_block"}) {
      BOOST_TEST_CONTEXT(each.name << figure) {
        BOOST_TEST(measured->median(std::string(each.name) + figure).value_or(0) > 0);
      }
    }
    if (each.has_tokens) BOOST_TEST(*measured->median(std::string(each.name) + "_blocks") == 72);
  }
}

BOOST_AUTO_TEST_CASE(requests_and_answers_are_measured) {
  const auto measured = perf::run_json(small_micro());
  BOOST_REQUIRE_MESSAGE(measured.has_value(), (measured ? std::string() : measured.error()));
  for (const char* figure : {"tokens_4096_plain_ns", "tokens_131072_general_ns", "hashes_128_library_ns", "tokens_4096_packed_ns",
                             "answer_json_ns", "answer_msgpack_ns", "answer_library_ns"}) {
    BOOST_TEST_CONTEXT(figure) {
      BOOST_TEST(measured->median(figure).value_or(0) > 0);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_small_run_from_end_to_end) {
  perf::e2e_plan plan;
  plan.requests = 30;
  plan.strict_requests = 10;
  plan.engines = 2;
  plan.cache_blocks = 1'000;
  plan.blocks = 10'000;
  plan.rate = 20'000;
  plan.program = server;
  plan.server_cpu = plan.load_cpu = 0;
  const auto measured = perf::run_e2e(plan);
  BOOST_REQUIRE_MESSAGE(measured.has_value(), (measured ? std::string() : measured.error()));
  for (const char* way : {"conductor", "round_robin", "random"}) {
    BOOST_TEST(measured->median(std::string(way) + "_prompt_tokens").value_or(0) > 0);
    BOOST_TEST(measured->median(std::string(way) + "_agreement_percent").value_or(0) > 0);
  }
  BOOST_TEST(*measured->median("strict_answers") == 20);
  BOOST_TEST(*measured->median("strict_differences") == 0);
  BOOST_TEST(measured->median("lag_ns_p50").value_or(0) > 0);
}

BOOST_AUTO_TEST_CASE(a_short_soak_passes) {
  BOOST_TEST(perf::run_soak({.seeds = 3, .seed = 20'261'121, .fleets = 3, .program = server}));
}

BOOST_AUTO_TEST_CASE(a_quick_report_is_whole) {
  // The page must have every plot it promises, and need nothing from elsewhere.
  const test::temporary_folder folder;
  perf::report_plan plan;
  plan.folder = folder.path().string();
  plan.program = server;
  plan.is_quick = true;
  plan.remark = "5 < 6 & \"so\"";
  const auto said = perf::run_report(plan, "kv-conductor-bench report --quick");
  BOOST_REQUIRE_MESSAGE(said.has_value(), (said ? std::string() : said.error()));
  const std::string page = contents(folder.path() / "report.html");
  for (const char* name : {"throughput", "latency", "memory", "queries", "recovery", "routing", "scale"}) {
    BOOST_TEST_CONTEXT(name) {
      const std::string svg = contents(folder.path() / ("report-" + std::string(name) + ".svg"));
      BOOST_TEST(svg.starts_with("<svg "));
      BOOST_TEST(svg.find("commit ") != std::string::npos);
      BOOST_TEST(svg.find("--quick") != std::string::npos);  // of the command, which may go over two lines
      BOOST_TEST(svg.find("nan") == std::string::npos);
      BOOST_TEST(page.find(svg) != std::string::npos);
    }
  }
  BOOST_TEST(page.find("5 &lt; 6 &amp; &quot;so&quot;") != std::string::npos);
  BOOST_TEST(page.find("src=") == std::string::npos);
  BOOST_TEST(page.find("href=") == std::string::npos);
  BOOST_TEST(said->find("one node carries") != std::string::npos);
  BOOST_TEST(said->find("measured points") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(ticks_are_round_and_cover_the_values) {
  const perf::plot_scale linear(0, 93, false, 0, 100);
  BOOST_TEST((linear.ticks() == std::vector<double>{0, 20, 40, 60, 80, 100}), "ticks");
  BOOST_TEST(linear.at(50) == 50, boost::test_tools::tolerance(1e-9));
  const perf::plot_scale decades(3, 40'000, true, 0, 100);
  BOOST_TEST(decades.ticks().front() == 1, boost::test_tools::tolerance(1e-9));
  BOOST_TEST(decades.ticks().back() == 100'000, boost::test_tools::tolerance(1e-9));
  BOOST_TEST(decades.at(1'000) == 60, boost::test_tools::tolerance(1e-9));
  const perf::plot_scale flat(7, 7, false, 0, 100);  // all values alike
  BOOST_TEST(std::isfinite(flat.at(7)));
  const perf::plot_scale one(5, 5, true, 0, 100);
  BOOST_TEST(std::isfinite(one.at(5)));
}

BOOST_AUTO_TEST_CASE(what_cannot_be_shown_is_left_out) {
  perf::plot what{.title = "a & b"};
  what.y.is_log = true;
  what.series = {{.name = "one", .points = {{0, 0}, {1, 10}, {2, std::nan("")}, {3, 100}}}};
  const std::string svg = perf::write_svg(what);
  BOOST_TEST(count(svg, "<circle") == 2U);
  BOOST_TEST(svg.find("a &amp; b") != std::string::npos);
  BOOST_TEST(svg.find("nan") == std::string::npos);
  BOOST_TEST(perf::write_svg({}).find("</svg>") != std::string::npos);  // nothing to show is no reason to fail
}

BOOST_AUTO_TEST_CASE(numbers_are_written_short) {
  BOOST_TEST(perf::plot_number(0) == "0");
  BOOST_TEST(perf::plot_number(12.5) == "12.5");
  BOOST_TEST(perf::plot_number(3'400) == "3.4 k");
  BOOST_TEST(perf::plot_number(999'999) == "1 M");
  BOOST_TEST(perf::plot_number(1'200'000) == "1.2 M");
  BOOST_TEST(perf::plot_number(0.25) == "0.25");
}

BOOST_AUTO_TEST_CASE(saturation_is_the_last_rate_that_was_kept_up_with) {
  const auto of = [](std::vector<std::pair<double, double>> points) {
    return perf::saturation_of({.name = "", .points = std::move(points)});
  };
  BOOST_TEST(of({{100, 100}, {200, 199}, {300, 240}}).x == 200);
  BOOST_TEST(of({{100, 100}, {200, 199}}).x == 0);  // never too much: nothing is known
  BOOST_TEST(of({}).x == 0);
}

BOOST_AUTO_TEST_CASE(a_fleet_needs_as_many_nodes_as_its_scarcest_resource) {
  perf::report_plan plan = round_plan();
  // Half of 10 cores is 5 s of CPU a second; an engine's events take 100 us of it, so 50,000 fit; memory: 8 GiB of 100 kB each, 85,899.
  const auto events = perf::scale_to(100'000, round_costs, plan);
  BOOST_TEST(events.nodes == 2U);
  BOOST_TEST((events.bottleneck == perf::scale_limit::events));
  BOOST_TEST(perf::engines_of_one_node(round_costs, plan) == 50'000U);
  plan.engine_blocks = 10'000;
  const auto memory = perf::scale_to(100'000, round_costs, plan);
  BOOST_TEST((memory.bottleneck == perf::scale_limit::memory));
  BOOST_TEST(memory.nodes == 12U);  // 100,000 x 1 MB over 8 GiB
  // Queries are asked of every node: they do not get fewer with more of them, only with groups that hold the same.
  plan = round_plan();
  plan.engine_events = 0;
  plan.engine_queries = 1;
  const auto queries = perf::scale_to(100'000, round_costs, plan);
  BOOST_TEST((queries.bottleneck == perf::scale_limit::queries));
  BOOST_TEST(queries.nodes >= 4U);  // 10 s of CPU a second at 5 a node, and two halves of the engines
  for (const double share : queries.of_node) BOOST_TEST(share <= 1 + 1e-9);
  BOOST_TEST(perf::scale_to(1, round_costs, plan).nodes == 1U);
}

BOOST_AUTO_TEST_CASE(more_engines_never_need_fewer_nodes) {
  perf::report_plan plan = round_plan();
  plan.engine_queries = 2;
  std::uint64_t before = 0;
  for (std::uint64_t engines = 1; engines <= 200'000; engines = engines * 3 / 2 + 1) {
    const auto answer = perf::scale_to(engines, round_costs, plan);
    BOOST_TEST(answer.nodes >= before);
    before = answer.nodes;
  }
}

BOOST_AUTO_TEST_CASE(figures_come_back_from_json) {
  const auto read = perf::read_figures(R"({"mode":"x","a":1,"b":2.5,"ok":true,"in":{"p50":7},"min":{"a":0},"list":[1]})");
  BOOST_REQUIRE(read.has_value());
  BOOST_TEST(*read->find("a") == 1);
  BOOST_TEST(*read->find("b") == 2.5);
  BOOST_TEST(*read->find("ok") == 1);
  BOOST_TEST(*read->find("in_p50") == 7);
  BOOST_TEST(!read->find("min_a").has_value());
  BOOST_TEST(perf::read_label(R"({"commit":"abc"})", "commit") == "abc");
  BOOST_TEST(!perf::read_figures("[1]").has_value());
  BOOST_TEST(!perf::read_figures("{").has_value());
  BOOST_TEST(!perf::read_figures_file("/nowhere/at/all").has_value());
}

BOOST_AUTO_TEST_CASE(wrong_words_are_told) {
  BOOST_TEST(fault_of({"report"}).find("folder") != std::string::npos);
  BOOST_TEST(fault_of({"report", "--scale"}).empty());
  BOOST_TEST(fault_of({"codec", "--form", "vllm_map"}).empty());
  const auto unknown = perf::run_codec({.form = "vllm_mop"});
  BOOST_TEST_REQUIRE(unknown.has_error());
  BOOST_TEST(unknown.error().find("vllm_map") != std::string::npos);
  BOOST_TEST(fault_of({"json", "--form", "x"}).find("--form") != std::string::npos);
  BOOST_TEST(fault_of({"soak", "--minutes", "0"}).find("--minutes") != std::string::npos);
  BOOST_TEST(fault_of({"e2e", "--rate", "0"}).find("--rate") != std::string::npos);
  for (const char* command : {"codec", "json", "http", "e2e", "soak", "report"}) {
    BOOST_TEST(perf::parse_bench_options({command, "--help"}).help.starts_with("Usage: kv-conductor-bench " + std::string(command)));
  }
}

BOOST_AUTO_TEST_SUITE_END()
