// Reads a request trace: one JSON object per line, as the Mooncake project publishes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "perf/sim_request.hpp"

namespace kvc::sim {

/// Limits that keep a wrong file from eating the memory; far above what any published trace holds.
inline constexpr std::size_t max_trace_line_bytes = 1U << 20;
inline constexpr std::uint32_t max_trace_tokens = 4U << 20;  ///< per prompt and per answer

/// Reads one line of a trace: `timestamp` (ms), `input_length`, `output_length`, `hash_ids`. Other members are ignored.
/// Returns an empty string, or a sentence that says which member is wrong and how. Pure.
[[nodiscard]] std::string parse_trace_line(std::string_view line, trace_request& into);

/// A trace file, read line by line; memory is bounded by one line.
class trace_file final : public request_source {
 public:
  /// Opens `path`; when that fails, `next` is false and `error` says why.
  explicit trace_file(std::string path);

  [[nodiscard]] bool next(trace_request& into) override;
  [[nodiscard]] const std::string& error() const noexcept override { return error_; }
  [[nodiscard]] std::string describe() const override;

 private:
  [[nodiscard]] bool fail(std::string_view reason);

  std::string path_;
  std::ifstream file_;
  std::vector<char> line_;
  std::uint64_t line_number_ = 0;
  std::string error_;
};

}  // namespace kvc::sim
