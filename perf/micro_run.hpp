// `codec` and `json` from plan to figures and pages.
#pragma once

#include <string>

#include <boost/system/result.hpp>

#include "perf/bench_summary.hpp"
#include "perf/micro_plan.hpp"

namespace kvc::perf {

/// Runs the measurement `plan.repeat` times, each in a process of its own; progress goes to standard error. Error: a sentence.
[[nodiscard]] boost::system::result<bench_summary, std::string> run_codec(const micro_plan& plan);
[[nodiscard]] boost::system::result<bench_summary, std::string> run_json(const micro_plan& plan);

/// Pages of figures, in Markdown; they ask the system about the machine.
[[nodiscard]] std::string codec_page(const bench_summary& measured, const micro_plan& plan, const std::string& command);
[[nodiscard]] std::string json_page(const bench_summary& measured, const micro_plan& plan, const std::string& command);

}  // namespace kvc::perf
