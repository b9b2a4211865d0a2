#include "perf/ingest_delays.hpp"

#include <numeric>

namespace kvc::perf {

ingest_delays ingest_delays::of(const core::latency_histogram& seen) noexcept {
  ingest_delays made;
  for (std::size_t i = 0; i < made.steps.size(); ++i) made.steps[i] = seen.in_step(i);
  made.sum_ns = seen.sum_ns();
  return made;
}

ingest_delays ingest_delays::since(const ingest_delays& before) const noexcept {
  ingest_delays made = *this;
  for (std::size_t i = 0; i < made.steps.size(); ++i) made.steps[i] -= before.steps[i];
  made.sum_ns -= before.sum_ns;
  return made;
}

std::uint64_t ingest_delays::count() const noexcept {
  return std::accumulate(steps.begin(), steps.end(), std::uint64_t{0});
}

double ingest_delays::at(double share) const noexcept {
  double wanted = share * static_cast<double>(count());
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const auto here = static_cast<double>(steps[i]);
    if (here > 0 && wanted <= here) {
      const double begin = i == 0 ? 0 : core::latency_histogram::upper_bound_of_step_s(i - 1) * 1e9;
      return begin + (core::latency_histogram::upper_bound_of_step_s(i) * 1e9 - begin) * wanted / here;
    }
    wanted -= here;
  }
  return 0;
}

void ingest_delays::add_to(bench_report& report, const std::string& name) const {
  if (count() == 0) return;
  report.add(name + "_mean", static_cast<double>(sum_ns) / static_cast<double>(count()));
  report.add(name + "_p50", at(0.5));
  report.add(name + "_p99", at(0.99));
  report.add(name + "_p999", at(0.999));
}

}  // namespace kvc::perf
