// `kv-conductor-bench ingest` from its plan to figures and bars.
#pragma once

#include <string>

#include <boost/system/result.hpp>

#include "perf/bench_summary.hpp"
#include "perf/ingest_plan.hpp"

namespace kvc::perf {

/// Runs what the plan asks for, each measurement in processes of its own, `repeat` times. No other thread may be running. Error: a
/// sentence.
[[nodiscard]] boost::system::result<bench_summary, std::string> run_ingest(const ingest_plan& plan);

/// What is to be reached, and whether it is: a line each. Figures that were not measured are left out. Pure.
[[nodiscard]] std::string ingest_verdicts(const bench_summary& measured);

/// The figures as a page in Markdown, with the machine, the commit and `command`.
[[nodiscard]] std::string ingest_page(const bench_summary& measured, const ingest_plan& plan, const std::string& command);

}  // namespace kvc::perf
