// What is to be reached, and the page of figures.
#include <array>
#include <string_view>

#include "perf/bench_machine.hpp"
#include "perf/bench_page_bars.hpp"
#include "perf/ingest_run.hpp"

namespace kvc::perf {
namespace {

/// (Source: the bars of the event intake.)
constexpr std::array<page_bar, 8> bars{{
    {"ratio_to_discard", "of the rate at which the same frames are discarded", 0.6, true, 1, ""},
    {"ingest_blocks_per_s", "one lane, saturated", 1.5e6, true, 1e6, " M blocks/s"},
    {"half_lag_ns_p99", "p99 from publish to queryable at half that rate", 2e6, false, 1e6, " ms"},
    {"even_half_lag_ns_p99", "the same, each batch given time for itself as well as for its blocks", 2e6, false, 1e6, " ms"},
    {"idle_cpu_percent", "CPU of the server while all streams are idle", 1, false, 1, " % of a core"},
    {"idle_bytes_per_stream", "memory of an idle stream", 65'536, false, 1'024, " KiB"},
    {"replay_s", "full replay", 1, false, 1, " s"},
    {"query_p99_above_idle_ns", "p99 of queries on a saturated lane above that on an idle one", 1e6, false, 1e6, " ms"},
}};

}  // namespace

std::string ingest_verdicts(const bench_summary& measured) {
  return bar_verdicts(bars, measured);
}

std::string ingest_page(const bench_summary& measured, const ingest_plan& plan, const std::string& command) {
  const bench_machine machine = describe_machine();
  std::string page = "# The event intake: figures and bars\n\nCommand: `" + command + "`, commit " +
                     (plan.commit.empty() ? machine.commit : plan.commit) + ", " + machine.date + ".\n\n";
  page += "Machine: " + machine.cpu + ", " + std::to_string(machine.cores) + " cores, frequency governor " + machine.governor +
          ", transparent huge pages " + machine.huge_pages + "; " + machine.build + ".\n\n";
  page += "Medians of " + std::to_string(measured.runs()) + " runs, with the least and the greatest.\n\n";
  page += bar_table(bars, measured);
  return page + "\n## All figures\n\n```\n" + measured.table() + "```\n";
}

}  // namespace kvc::perf
