#include "perf/bench_report.hpp"

#include <algorithm>
#include <numeric>

namespace kvc::perf {

void bench_report::add_latencies(const std::string& name, std::vector<std::uint32_t>& samples) {
  if (samples.empty()) return;
  std::ranges::sort(samples);
  const auto at = [&](double share) {
    return static_cast<double>(samples[static_cast<std::size_t>(share * static_cast<double>(samples.size() - 1))]);
  };
  add(name + "_mean", std::accumulate(samples.begin(), samples.end(), 0.0) / static_cast<double>(samples.size()));
  add(name + "_p50", at(0.5));
  add(name + "_p99", at(0.99));
  add(name + "_p999", at(0.999));
  add(name + "_max", static_cast<double>(samples.back()));
}

std::optional<double> bench_report::find(std::string_view name) const noexcept {
  const auto found = std::ranges::find(figures_, name, &bench_figure::name);
  if (found == figures_.end()) return std::nullopt;
  return found->value;
}

}  // namespace kvc::perf
