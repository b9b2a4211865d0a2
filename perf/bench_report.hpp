// Figures of one benchmark run, as a table for people and as JSON for programs.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace kvc::perf {

/// Named figures in the order they were measured.
class bench_report {
 public:
  void add(std::string name, double value) { figures_.emplace_back(std::move(name), value); }

  /// Count, mean and quantiles of `samples` (nanoseconds), as `<name>_mean`, `_p50`, `_p99`, `_p999`, `_max`. Sorts the samples.
  void add_latencies(const std::string& name, std::vector<std::uint32_t>& samples);

  /// One `name value` line per figure.
  [[nodiscard]] std::string table() const;
  /// One flat JSON object; names are plain ASCII.
  [[nodiscard]] std::string json(const std::string& mode, const std::string& file) const;

 private:
  std::vector<std::pair<std::string, double>> figures_;
};

}  // namespace kvc::perf
