// Named figures of one benchmark run.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kvc::perf {

/// One measured number; its unit is part of the name.
struct bench_figure {
  std::string name;
  double value = 0;
};

/// Named figures in the order they were measured. Names are plain ASCII and occur once.
class bench_report {
 public:
  void add(std::string name, double value) { figures_.push_back({std::move(name), value}); }

  /// Mean and quantiles of `samples` (nanoseconds), as `<name>_mean`, `_p50`, `_p99`, `_p999`, `_max`; nothing without samples. Sorts the
  /// samples.
  void add_latencies(const std::string& name, std::vector<std::uint32_t>& samples);

  /// What is called `name`, if it was measured.
  [[nodiscard]] std::optional<double> find(std::string_view name) const noexcept;
  [[nodiscard]] std::span<const bench_figure> figures() const noexcept { return figures_; }

 private:
  std::vector<bench_figure> figures_;
};

}  // namespace kvc::perf
