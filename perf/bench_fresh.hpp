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

}  // namespace kvc::perf
