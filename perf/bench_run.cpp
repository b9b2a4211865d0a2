#include "perf/bench_run.hpp"

#include <algorithm>
#include <cstdio>
#include <vector>

#include "perf/bench_first_touch.hpp"
#include "perf/bench_fresh.hpp"
#include "perf/bench_yardstick.hpp"

namespace kvc::perf {
namespace {

void add_ratio(bench_report& report, std::string name, std::string_view figure, std::string_view unit) {
  const auto measured = report.find(figure);
  const auto one = report.find(unit);
  if (measured && one && *one > 0) report.add(std::move(name), *measured / *one);
}

}  // namespace

void add_yardstick(bench_report& report) {
  const bench_yardstick machine = measure_yardstick();
  report.add("touch32", machine.touch32);
  report.add("touch512", machine.touch512);
  report.add("miss", machine.miss);
  report.add("compare", machine.compare);
  report.add("compare_cold", machine.compare_cold);
  add_ratio(report, "event_touches", "event_ns_per_block", "touch512");
  add_ratio(report, "query_mean_misses", "query_ns_mean", "miss");
  add_ratio(report, "query_p99_misses", "query_ns_p99", "miss");
  // What a question out of cache waits for is its own bytes: in comparisons of as many hashes as it has, the figure carries over.
  if (const auto hashes = report.find("deep_hashes"); hashes && machine.compare_cold > 0) {
    report.add("deep_cold_compare_ns", *hashes * machine.compare_cold);
    add_ratio(report, "deep_cold_compares", "deep_cold_ns_mean", "deep_cold_compare_ns");
  }
}

bench_report run_job(const bench_job& job) {
  bench_report report;
  reserve_memory(job.reserve_mib);
  if (job.file != nullptr) report.add("workers", job.file->workers());
  if (job.mode->replay != nullptr) {
    job.mode->replay(*job.file, job.setup, report);
  } else {
    job.mode->shape(job.setup, report);
  }
  if (job.with_yardstick) add_yardstick(report);
  return report;
}

boost::system::result<bench_summary, std::string> run_repeated(const bench_job& job, std::uint32_t repeat, double most_stolen) {
  std::vector<bench_report> runs;
  for (std::uint32_t run = 1; run <= std::max(repeat, 1U); ++run) {
    std::fprintf(stderr, "%.*s: run %u of %u\n", static_cast<int>(job.mode->name.size()), job.mode->name.data(), run, repeat);
    auto measured = measure_quietly([&job] { return run_job(job); }, most_stolen);
    if (!measured) return "run " + std::to_string(run) + " of " + std::to_string(repeat) + ": " + measured.error();
    runs.push_back(std::move(*measured));
  }
  return bench_summary(runs);
}

}  // namespace kvc::perf
