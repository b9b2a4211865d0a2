#include <array>
#include <signal.h>
#include <stdexcept>
#include <string>
#include <unistd.h>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "perf/bench_bars.hpp"
#include "perf/bench_fresh.hpp"
#include "perf/bench_options.hpp"
#include "perf/bench_page.hpp"
#include "perf/bench_stolen.hpp"
#include "perf/bench_summary.hpp"

BOOST_AUTO_TEST_SUITE(bench_results)

using namespace kvc;

namespace {

perf::bench_report report_of(double time, double pairs) {
  perf::bench_report report;
  report.add("event_touches", time);
  report.add("pairs", pairs);
  report.add("depth_sum", 106'219'864);
  return report;
}

bool says(const std::string& text, const std::string& part) {
  if (text.find(part) != std::string::npos) return true;
  BOOST_TEST_MESSAGE("said: " << text);
  return false;
}

std::string fault_of(const std::vector<std::string>& words) {
  return perf::parse_bench_options(words).error;
}

}  // namespace

BOOST_AUTO_TEST_CASE(several_runs_give_median_least_and_greatest) {
  const perf::bench_summary odd({report_of(3, 7), report_of(1, 7), report_of(8, 7)});
  BOOST_TEST(*odd.median("event_touches") == 3);
  BOOST_TEST(odd.find("event_touches")->least == 1);
  BOOST_TEST(odd.find("event_touches")->greatest == 8);
  BOOST_TEST(!odd.median("nothing").has_value());
  BOOST_TEST(says(odd.table(), "event_touches          3  (1 .. 8)\n"));
  BOOST_TEST(odd.json({{"mode", "a\"b\n"}}) ==
             "{\"mode\":\"a\\\"b\\u000a\",\"repeat\":3,\"event_touches\":3,\"pairs\":7,\"depth_sum\":106219864,"
             "\"min\":{\"event_touches\":1,\"pairs\":7,\"depth_sum\":106219864},"
             "\"max\":{\"event_touches\":8,\"pairs\":7,\"depth_sum\":106219864}}\n");
  const perf::bench_summary even({report_of(1, 7), report_of(2, 7)});
  BOOST_TEST(*even.median("event_touches") == 1.5);
}

BOOST_AUTO_TEST_CASE(a_fresh_run_brings_its_figures_back_exactly) {
  const auto measured = perf::measure_fresh([] { return report_of(1.0 / 3, 12'185'978); });
  BOOST_REQUIRE(measured.has_value());
  BOOST_TEST(*measured->find("event_touches") == 1.0 / 3);
  BOOST_TEST(*measured->find("pairs") == 12'185'978);
}

BOOST_AUTO_TEST_CASE(a_fresh_run_that_dies_is_an_error_and_no_figures) {
  const auto killed = perf::measure_fresh([]() -> perf::bench_report {
    ::kill(::getpid(), SIGKILL);
    return {};
  });
  BOOST_REQUIRE(!killed.has_value());
  BOOST_TEST(says(killed.error(), "memory"));
  const auto thrown = perf::measure_fresh([]() -> perf::bench_report { throw std::runtime_error("on purpose"); });
  BOOST_REQUIRE(!thrown.has_value());
}

BOOST_AUTO_TEST_CASE(what_the_host_took_is_read_from_the_kernels_first_line) {
  const auto read = perf::read_cpu_time("cpu  5906620 9219 997980 3654034 21225 0 59959 55819 7 3\ncpu0 1 2 3 4 5 6 7 8 0 0\n");
  BOOST_REQUIRE(read.has_value());
  BOOST_TEST(read->stolen == 55'819U);
  BOOST_TEST(read->all == 10'704'856U);  // without the last two, which are guests' and are in the first two already
  for (const char* const other : {"", "cpu", "cpu  1 2 3", "cpu  1 2 3 4 5 6 7 x", "intr 1 2 3 4 5 6 7 8"}) {
    BOOST_TEST(!perf::read_cpu_time(other).has_value(), other);
  }
  BOOST_TEST(perf::stolen_share({.all = 1'000, .stolen = 10}, {.all = 1'400, .stolen = 11}) == 0.0025);
  BOOST_TEST(perf::stolen_share({.all = 1'000, .stolen = 10}, {.all = 1'000, .stolen = 10}) == 0.0);
}

BOOST_AUTO_TEST_CASE(what_lost_more_to_the_host_than_may_be_is_measured_again) {
  if (!perf::cpu_time_now()) return;
  int made = 0;  // counted through a pipe: each run is a process of its own
  std::array<int, 2> ends{};
  BOOST_REQUIRE(::pipe(ends.data()) == 0);
  const auto measure = [&](double most_stolen) {
    return perf::measure_quietly(
        [&] {
          BOOST_REQUIRE(::write(ends[1], "x", 1) == 1);
          return report_of(1, 7);
        },
        most_stolen, "taken");
  };
  const auto never_quiet = measure(-1);  // not even nothing is little enough
  const auto always_quiet = measure(1);
  ::close(ends[1]);
  for (char one = 0; ::read(ends[0], &one, 1) == 1;) ++made;
  ::close(ends[0]);
  BOOST_TEST(made == static_cast<int>(perf::most_tries) + 1);
  BOOST_REQUIRE((never_quiet.has_value() && always_quiet.has_value()));
  BOOST_TEST(*never_quiet->find("pairs") == 7);
  BOOST_TEST(never_quiet->find("taken").has_value());
}

BOOST_AUTO_TEST_CASE(the_page_says_which_bars_are_met_and_which_answers_are_wrong) {
  const auto page = [](double time, double pairs) {
    const std::vector<perf::bench_result> results{
        {"m1", "sequential", perf::bench_design::runs, perf::bench_summary({report_of(time, pairs)}), {}},
        {"m2", "sequential", perf::bench_design::runs, perf::bench_summary({}), "m2.kvwl: No such file"}};
    perf::bench_machine machine;
    machine.commit = "abc";
    return perf::write_page(results, machine, "the command");
  };
  BOOST_TEST(says(page(1.0, 12'185'978), "| M1 events per block | 1 (1 .. 1) | 2 touch | 1.2 | goal met |"));
  BOOST_TEST(says(page(1.5, 12'185'978), "| M1 events per block | 1.5 (1.5 .. 1.5) | 2 touch | 1.2 | met |"));
  BOOST_TEST(says(page(2.5, 12'185'978), "| M1 events per block | 2.5 (2.5 .. 2.5) | 2 touch | 1.2 | **not met** |"));
  BOOST_TEST(says(page(1.0, 12'185'978), "106,219,864: exact"));
  BOOST_TEST(says(page(1.0, 12'185'977), "**pairs -1, depths +0**"));
  BOOST_TEST(says(page(1.0, 1), "| M3 events per block (16 workers, 16-token blocks) | not measured |"));
  BOOST_TEST(says(page(1.0, 1), "* M2, sequential, runs: m2.kvwl: No such file"));
  BOOST_TEST(says(page(1.0, 1), "`the command`, commit abc"));
}

BOOST_AUTO_TEST_CASE(the_page_warns_of_figures_from_a_busy_machine) {
  const auto page = [](double share) {
    perf::bench_report report = report_of(1, 12'185'978);
    report.add("cpu_share", share);
    return perf::write_page({{"m1", "sequential", perf::bench_design::runs, perf::bench_summary({report}), {}}}, {}, "the command");
  };
  BOOST_TEST(says(page(0.25), "M1 runs (0.25)"));
  BOOST_TEST(page(0.99).find("Disturbed") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(every_bar_belongs_to_a_mode) {
  for (const auto& bar : perf::bench_bars()) {
    const perf::bench_mode* mode = perf::find_bench_mode(bar.mode);
    BOOST_REQUIRE(mode != nullptr);
    BOOST_TEST((mode->replay != nullptr) == !bar.file.empty());
    BOOST_TEST(perf::reaches(bar, bar.goal, bar.bar));  // a goal is never behind its bar
  }
}

BOOST_AUTO_TEST_CASE(reads_flags_in_both_forms) {
  const auto index =
      perf::parse_bench_options({"index", "x.kvwl", "--mode=memory", "--design", "positional", "--stride=8", "--repeat", "5", "--json"});
  BOOST_TEST(index.error == "");
  BOOST_TEST((index.command == perf::bench_command::index));
  BOOST_TEST(index.index.mode->name == "memory");
  BOOST_TEST((index.index.setup.design == perf::bench_design::positional));
  BOOST_TEST(index.index.setup.stride == 8U);
  BOOST_TEST(index.index.repeat == 5U);
  BOOST_TEST(index.index.as_json);
  const auto make = perf::parse_bench_options({"make", "trace", "in.jsonl", "out.kvwl", "--block-size", "16", "--route=affine"});
  BOOST_TEST(make.error == "");
  BOOST_TEST(make.make.trace.path == "in.jsonl");
  BOOST_TEST(make.make.out == "out.kvwl");
  BOOST_TEST(make.make.requests == 0U);
  BOOST_TEST(make.make.is_affine);
}

BOOST_AUTO_TEST_CASE(refusals_teach) {
  BOOST_TEST(says(fault_of({}), "index, index-table, codec, json, ingest, http, e2e, coordinator, exist, soak, report or make"));
  BOOST_TEST(says(fault_of({"indx"}), "indx"));
  BOOST_TEST(says(fault_of({"index"}), "FILE.kvwl"));
  BOOST_TEST(says(fault_of({"index", "x", "--mode", "fast"}), "sequential, saturation"));
  BOOST_TEST(says(fault_of({"index", "x", "--mode", "deep"}), "reads no file"));
  BOOST_TEST(says(fault_of({"index", "--mode", "fork", "--design", "positional"}), "--design runs only"));
  BOOST_TEST(says(fault_of({"index", "x", "--design", "tree"}), "runs or positional"));
  BOOST_TEST(says(fault_of({"index", "x", "--stride", "8"}), "--design positional"));
  BOOST_TEST(says(fault_of({"index", "x", "--repeat", "0"}), "from 1 to 1000"));
  BOOST_TEST(says(fault_of({"index", "x", "--repeat"}), "needs a value"));
  BOOST_TEST(says(fault_of({"index", "x", "--json=yes"}), "takes no value"));
  BOOST_TEST(says(fault_of({"index", "x", "--fast"}), "--fast"));
  BOOST_TEST(says(fault_of({"index", "x", "y"}), "unexpected word y"));
  BOOST_TEST(says(fault_of({"make"}), "conversations, agents or trace"));
  BOOST_TEST(says(fault_of({"make", "chats", "x"}), "chats"));
  BOOST_TEST(says(fault_of({"make", "agents"}), "OUT.kvwl"));
  BOOST_TEST(says(fault_of({"make", "agents", "x", "--chats", "4"}), "unknown flag --chats"));
  BOOST_TEST(says(fault_of({"make", "trace", "x"}), "OUT.kvwl"));
  BOOST_TEST(says(fault_of({"make", "trace", "x", "y", "--block-size", "48"}), "512"));
  BOOST_TEST(says(fault_of({"make", "agents", "x", "--workers", "65536", "--cache-blocks", "16777216"}), "memory"));
  BOOST_TEST(says(perf::parse_bench_options({"make", "--help"}).help, "--fan-out"));
}

BOOST_AUTO_TEST_SUITE_END()
