// Runs something in a process of its own and brings its figures back.
#pragma once

#include <functional>
#include <string>

#include <boost/system/result.hpp>

#include "perf/bench_report.hpp"

namespace kvc::perf {

/// Forks; the child calls `measure`, hands the report back and ends; it ends, too, when this process does. Waits for it as long as it
/// takes: a benchmark has no deadline but its user's patience. No other thread may be running. Error: a sentence that says how the child
/// ended.
[[nodiscard]] boost::system::result<bench_report, std::string> measure_fresh(const std::function<bench_report()>& measure);

/// The same, and adds `figure`, where the system tells it: the share of the CPUs that the host of a virtual machine gave to others
/// meanwhile (see bench_stolen). Where that was more than `most_stolen`, it is measured again, up to `most_tries` times in all, and says so
/// on standard error; if no run was that quiet, the one with the least stolen is taken. A run is chosen by what was stolen alone, never by
/// its figures.
[[nodiscard]] boost::system::result<bench_report, std::string> measure_quietly(const std::function<bench_report()>& measure,
                                                                               double most_stolen,
                                                                               const std::string& figure = "stolen_share");
inline constexpr unsigned most_tries = 8;

}  // namespace kvc::perf
