// What is to be reached, and the page of figures.
#include <array>
#include <string_view>

#include "perf/bench_machine.hpp"
#include "perf/ingest_run.hpp"

namespace kvc::perf {
namespace {

struct bar {
  std::string_view figure;
  std::string_view what;
  double limit;
  bool is_least;  ///< the limit is to be reached, else not to be exceeded
  double scale;   ///< the figure is shown divided by this
  std::string_view unit;
};

/// (Source: the bars of the event intake.)
constexpr std::array<bar, 7> bars{{
    {"ratio_to_discard", "of the rate at which the same frames are discarded", 0.6, true, 1, ""},
    {"ingest_blocks_per_s", "one lane, saturated", 1.5e6, true, 1e6, " M blocks/s"},
    {"half_lag_ns_p99", "p99 from publish to queryable at half that rate", 2e6, false, 1e6, " ms"},
    {"idle_cpu_percent", "CPU of the server while all streams are idle", 1, false, 1, " % of a core"},
    {"idle_bytes_per_stream", "memory of an idle stream", 65'536, false, 1'024, " KiB"},
    {"replay_s", "full replay", 1, false, 1, " s"},
    {"query_p99_above_idle_ns", "p99 of queries on a saturated lane above that on an idle one", 1e6, false, 1e6, " ms"},
}};

/// A difference below nothing says that the machine was busy with something else, not that a bar is met.
std::string_view verdict(const bar& of, double value) {
  if (value < 0) return "unclear";
  return (of.is_least ? value >= of.limit : value <= of.limit) ? "met" : "MISSED";
}

std::string shown(const bar& of, double value) {
  return bench_number(value / of.scale) + std::string(of.unit);
}

}  // namespace

std::string ingest_verdicts(const bench_summary& measured) {
  std::string text;
  for (const bar& each : bars) {
    const auto value = measured.median(each.figure);
    if (!value) continue;
    std::string word(verdict(each, *value));
    word.resize(9, ' ');
    text += word + std::string(each.what) + ": " + shown(each, *value) + " (bar " + (each.is_least ? ">= " : "<= ") +
            shown(each, each.limit) + ")\n";
  }
  return text;
}

std::string ingest_page(const bench_summary& measured, const ingest_plan& plan, const std::string& command) {
  const bench_machine machine = describe_machine();
  std::string page = "# The event intake: figures and bars\n\nCommand: `" + command + "`, commit " +
                     (plan.commit.empty() ? machine.commit : plan.commit) + ", " + machine.date + ".\n\n";
  page += "Machine: " + machine.cpu + ", " + std::to_string(machine.cores) + " cores, frequency governor " + machine.governor +
          ", transparent huge pages " + machine.huge_pages + "; " + machine.build + ".\n\n";
  page += "Medians of " + std::to_string(measured.runs()) + " runs, with the least and the greatest.\n\n";
  page += "| measure | figure | bar | |\n|---|---|---|---|\n";
  for (const bar& each : bars) {
    const bench_spread* const found = measured.find(each.figure);
    if (found == nullptr) continue;
    page += "| " + std::string(each.what) + " | " + shown(each, found->median) + " (" + bench_number(found->least / each.scale) + " .. " +
            bench_number(found->greatest / each.scale) + ") | " + (each.is_least ? ">= " : "<= ") + shown(each, each.limit) + " | " +
            std::string(verdict(each, found->median)) + " |\n";
  }
  return page + "\n## All figures\n\n```\n" + measured.table() + "```\n";
}

}  // namespace kvc::perf
