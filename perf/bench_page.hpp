// The page of results: figures beside their bars, in Markdown.
#pragma once

#include <string>
#include <vector>

#include "perf/bench_design.hpp"
#include "perf/bench_machine.hpp"
#include "perf/bench_summary.hpp"

namespace kvc::perf {

/// One mode that was measured, or the reason why not.
struct bench_result {
  std::string file;  ///< workload without its ending; empty: a mode that reads none
  std::string mode;
  bench_design design = bench_design::runs;
  bench_summary summary;
  std::string fault;  ///< not empty: there are no figures
};

/// The whole page. Pure.
[[nodiscard]] std::string write_page(const std::vector<bench_result>& results, const bench_machine& machine, const std::string& command);

}  // namespace kvc::perf
