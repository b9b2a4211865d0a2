// One request of a trace, and where requests come from.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kvc::sim {

/// Tokens per block of the trace. (Source: the public Mooncake traces, FAST'25: hash_ids name blocks of 512 tokens.)
inline constexpr std::uint32_t trace_block_tokens = 512;

/// A request as a trace describes it: lengths, and names for its 512-token blocks. Equal names at equal positions mean equal text.
struct trace_request {
  std::uint64_t timestamp_ms = 0;       ///< arrival since the start of the trace
  std::uint32_t input_length = 0;       ///< tokens of the prompt, at least 1
  std::uint32_t output_length = 0;      ///< tokens generated
  std::vector<std::uint64_t> hash_ids;  ///< one per started block of the prompt
};

/// Gives requests in the order they arrive. One owner, one thread.
class request_source {
 public:
  request_source() = default;
  request_source(const request_source&) = delete;
  request_source& operator=(const request_source&) = delete;
  virtual ~request_source() = default;

  /// Fills `into` with the next request. False at the end or at a fault; then `error` tells which.
  [[nodiscard]] virtual bool next(trace_request& into) = 0;
  /// A sentence about what went wrong; empty when nothing did.
  [[nodiscard]] virtual const std::string& error() const noexcept = 0;
  /// What the requests are, for people.
  [[nodiscard]] virtual std::string describe() const = 0;
};

}  // namespace kvc::sim
