// The figures of a repeated run: medians with the least and the greatest, as a table for people and as JSON for programs.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "perf/bench_report.hpp"

namespace kvc::perf {

/// One figure over all runs that have it.
struct bench_spread {
  std::string name;
  double median = 0;  ///< the mean of the middle two when their number is even
  double least = 0;
  double greatest = 0;
};

/// A number as results show it: whole ones without a point, others with three digits behind it. Finite numbers only.
[[nodiscard]] std::string bench_number(double value);

/// Runs of one mode put together, figures in the order of the first run.
class bench_summary {
 public:
  explicit bench_summary(const std::vector<bench_report>& runs);

  [[nodiscard]] const bench_spread* find(std::string_view name) const noexcept;
  /// Median of `name`.
  [[nodiscard]] std::optional<double> median(std::string_view name) const noexcept;
  [[nodiscard]] std::size_t runs() const noexcept { return runs_; }

  /// One line per figure; with several runs also the least and the greatest.
  [[nodiscard]] std::string table() const;
  /// One object: `labels` (name and text), `repeat`, each figure's median under its name, and the objects `min` and `max` with the same
  /// names.
  [[nodiscard]] std::string json(const std::vector<std::pair<std::string, std::string>>& labels) const;

 private:
  std::size_t runs_;
  std::vector<bench_spread> spreads_;
};

}  // namespace kvc::perf
