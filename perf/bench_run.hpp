// A mode from start to figures: in this process, or so many times, each in a process of its own.
#pragma once

#include <cstdint>
#include <string>

#include <boost/system/result.hpp>

#include "perf/bench_design.hpp"
#include "perf/bench_modes.hpp"
#include "perf/bench_report.hpp"
#include "perf/bench_summary.hpp"

namespace kvc::perf {

/// What is run.
struct bench_job {
  const bench_mode* mode = nullptr;      ///< never null
  const bench_workload* file = nullptr;  ///< not null when the mode replays one
  bench_setup setup;
  bool with_yardstick = true;
  std::uint32_t reserve_mib = 0;  ///< memory that is touched before anything is measured
};

/// Appends the constants of the machine.
void add_yardstick(bench_report& report);

/// Runs the job here. After the mode's own figures come the yardstick's and, where both are there, the ratios that carry figures between
/// machines: `event_touches` (event_ns_per_block in touch512), `query_mean_misses` and `query_p99_misses` (query_ns in miss).
[[nodiscard]] bench_report run_job(const bench_job& job);

/// Runs the job `repeat` times, at least once, each run in a child process: all start from the same fresh allocator and none inherits the
/// pages of whatever was measured before, which would make it look smaller. Progress goes to standard error. No other thread may be
/// running. A run that lost more than `most_stolen` of the CPUs to others on the host is made again (see measure_quietly). Error: a
/// sentence about the run that failed.
[[nodiscard]] boost::system::result<bench_summary, std::string> run_repeated(const bench_job& job, std::uint32_t repeat,
                                                                             double most_stolen = 1);

}  // namespace kvc::perf
