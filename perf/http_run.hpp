// Everything `kv-conductor-bench http` measures, repeated, and what is made of it.
#pragma once

#include <string>

#include <boost/system/result.hpp>

#include "perf/bench_summary.hpp"
#include "perf/http_plan.hpp"

namespace kvc::perf {

/// Runs the plan, each repetition with servers of its own; progress goes to standard error. No other thread may be running, and the calling
/// process is left on the load's CPU. Error: a sentence.
[[nodiscard]] boost::system::result<bench_summary, std::string> run_http(const http_load_plan& plan);

/// The bars with their verdicts, a line each, for a terminal. Pure.
[[nodiscard]] std::string http_verdicts(const bench_summary& measured);
/// The page of figures, in Markdown; asks the system about the machine.
[[nodiscard]] std::string http_page(const bench_summary& measured, const http_load_plan& plan, const std::string& command);

}  // namespace kvc::perf
