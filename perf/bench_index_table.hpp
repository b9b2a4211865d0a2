// Everything there is a bar for, measured one after the other.
#pragma once

#include <vector>

#include "perf/bench_options.hpp"
#include "perf/bench_page.hpp"

namespace kvc::perf {

/// Runs every mode that a bar or the table of workloads needs, on the standard workloads that lie in the plan's folder. What cannot be
/// measured is told and left out; the rest goes on. Progress goes to standard error.
[[nodiscard]] std::vector<bench_result> measure_everything(const table_plan& plan);

}  // namespace kvc::perf
