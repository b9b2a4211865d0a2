// Made-up requests with the shape of real ones, for machines without a trace.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "perf/sim_mix.hpp"
#include "perf/sim_request.hpp"

namespace kvc::sim {

/// What the generated traffic looks like. The defaults imitate the published conversation trace: prompts of some 12,000 tokens on average,
/// about three requests per second, a little under half of the blocks seen before.
struct generator_shape {
  std::uint32_t applications = 24;       ///< distinct system prompts, at least 1; their popularity falls as 1/rank (Zipf)
  std::uint32_t max_system_blocks = 12;  ///< trace blocks of the longest system prompt, at least 1
  std::uint32_t max_sessions = 512;      ///< conversations remembered, at least 1; the longest idle one is forgotten
  std::uint32_t max_turn_blocks = 8;     ///< trace blocks a turn adds to the prompt, at least 1
  std::uint32_t max_input_blocks = 240;  ///< a conversation longer than this ends; keeps prompts under 123,000 tokens
  double new_session_share = 0.4;        ///< of all requests; the rest are next turns
  double mean_gap_ms = 300;              ///< between arrivals
};

/// Shared system prompts, conversations whose prompts grow turn by turn, popular and rare applications. Endless; fixed by the seed.
class trace_generator final : public request_source {
 public:
  explicit trace_generator(std::uint64_t seed, generator_shape shape = {});

  [[nodiscard]] bool next(trace_request& into) override;
  [[nodiscard]] const std::string& error() const noexcept override { return no_error_; }
  [[nodiscard]] std::string describe() const override;

 private:
  /// A conversation: the full blocks that its next prompt begins with.
  struct session {
    std::vector<std::uint64_t> blocks;
  };

  [[nodiscard]] std::uint32_t popular(std::uint32_t count);
  [[nodiscard]] session start_session();

  std::uint64_t seed_;
  generator_shape shape_;
  dice dice_;
  std::vector<std::vector<std::uint64_t>> system_prompts_;
  std::vector<session> sessions_;  ///< most recently used last
  std::uint64_t next_block_ = 0;
  double now_ms_ = 0;
  std::string no_error_;
};

}  // namespace kvc::sim
