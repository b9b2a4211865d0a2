#include "perf/http_plan.hpp"

#include <algorithm>

namespace kvc::perf {

const http_workload_name* find_http_workload(std::string_view name) noexcept {
  const auto found = std::ranges::find(http_workloads, name, &http_workload_name::name);
  return found == http_workloads.end() ? nullptr : &*found;
}

}  // namespace kvc::perf
