// The requests of the HTTP benchmark as bytes, made before anything is measured.
#pragma once

#include <string>
#include <vector>

#include "perf/http_plan.hpp"

namespace kvc::perf {

/// Prompts come from the same requests that filled the index, repeated to the length that is wanted where they are too short. Throws
/// std::runtime_error when the trace has no prompts. Pure but for reading the trace.
[[nodiscard]] std::vector<std::string> http_questions(const http_load_plan& plan, const http_workload_name& workload);

}  // namespace kvc::perf
