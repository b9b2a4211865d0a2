// How old batches are when their blocks are found, as the lane that applies them observes it.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "core/counters.hpp"
#include "perf/bench_report.hpp"

namespace kvc::perf {

/// What a histogram of the service had counted at one moment.
struct ingest_delays {
  std::array<std::uint64_t, core::latency_histogram::step_count> steps{};
  std::uint64_t sum_ns = 0;

  /// Any thread; batches applied meanwhile are in it or not.
  [[nodiscard]] static ingest_delays of(const core::latency_histogram& seen) noexcept;
  /// What has been counted since `before`.
  [[nodiscard]] ingest_delays since(const ingest_delays& before) const noexcept;
  [[nodiscard]] std::uint64_t count() const noexcept;
  /// The delay that `share` (0 to 1) of the batches do not exceed, in nanoseconds, taken as spread evenly within a step of the histogram,
  /// which is an eighth to a fifth of what it counts. Nothing counted: 0.
  [[nodiscard]] double at(double share) const noexcept;
  /// `NAME_mean`, `_p50`, `_p99` and `_p999`. Nothing counted: nothing.
  void add_to(bench_report& report, const std::string& name) const;
};

}  // namespace kvc::perf
