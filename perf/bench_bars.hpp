// What the index is to reach: bars, goals, and the answers of the standard workloads.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace kvc::perf {

/// One line of the list of bars. A bar must be reached; a goal is where the work goes on to.
struct bench_bar {
  std::string_view measure;  ///< for people
  std::string_view file;     ///< workload without its ending; empty: the mode reads none
  std::string_view mode;
  std::string_view figure;  ///< of the mode's report
  double scale = 1;         ///< from the figure's unit to `unit`
  std::string_view unit;    ///< touch and miss are the yardstick's, of the same run
  double bar = 0;
  double goal = 0;
  bool is_least = false;  ///< more is better
};

/// A standard workload and the answers that pin it, from the strict model.
struct bench_standard {
  std::string_view file;  ///< without its ending
  std::uint64_t pairs = 0;
  std::uint64_t depth_sum = 0;
};

[[nodiscard]] std::span<const bench_bar> bench_bars() noexcept;
[[nodiscard]] std::span<const bench_standard> bench_standards() noexcept;

/// Whether `value` (in the bar's unit) reaches `limit`, its bar or its goal.
[[nodiscard]] constexpr bool reaches(const bench_bar& bar, double value, double limit) noexcept {
  return bar.is_least ? value >= limit : value <= limit;
}

}  // namespace kvc::perf
