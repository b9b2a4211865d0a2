#include "perf/sim_generator.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

namespace kvc::sim {

trace_generator::trace_generator(std::uint64_t seed, generator_shape shape) : seed_(seed), shape_(shape), dice_(seed) {
  system_prompts_.resize(shape_.applications);
  for (auto& prompt : system_prompts_) {
    const auto blocks = dice_.between(1, shape_.max_system_blocks);
    for (std::uint32_t i = 0; i < blocks; ++i) prompt.push_back(next_block_++);
  }
}

std::uint32_t trace_generator::popular(std::uint32_t count) {
  // Zipf with exponent 1 by inverting its continuous form: P(rank <= r) is close to log(r+1) / log(count+1).
  const double rank = std::exp(dice_.unit() * std::log(static_cast<double>(count) + 1)) - 1;
  return std::min(static_cast<std::uint32_t>(rank), count - 1);
}

trace_generator::session trace_generator::start_session() {
  session fresh;
  fresh.blocks = system_prompts_[popular(shape_.applications)];
  return fresh;
}

bool trace_generator::next(trace_request& into) {
  now_ms_ += -shape_.mean_gap_ms * std::log(1 - dice_.unit());

  session current;
  if (sessions_.empty() || dice_.unit() < shape_.new_session_share) {
    current = start_session();
  } else {
    // People answer soon or late: recent conversations are the likeliest to go on.
    const auto back = popular(static_cast<std::uint32_t>(sessions_.size()));
    const auto chosen = sessions_.end() - 1 - static_cast<std::ptrdiff_t>(back);
    current = std::move(*chosen);
    sessions_.erase(chosen);
  }

  const auto added = dice_.between(1, shape_.max_turn_blocks);
  for (std::uint32_t i = 0; i < added; ++i) current.blocks.push_back(next_block_++);
  // The last block is rarely full. What follows it in the next turn makes another block of it, so it gets another name then.
  const auto in_last = dice_.between(1, trace_block_tokens);
  into.timestamp_ms = static_cast<std::uint64_t>(now_ms_);
  into.hash_ids = current.blocks;
  into.input_length = static_cast<std::uint32_t>(current.blocks.size() - 1) * trace_block_tokens + in_last;
  into.output_length = dice_.between(1, 2 * 343 - 1);  // mean of the published conversation trace: 343

  if (in_last != trace_block_tokens) current.blocks.pop_back();
  if (current.blocks.size() < shape_.max_input_blocks - shape_.max_turn_blocks) sessions_.push_back(std::move(current));
  if (sessions_.size() > shape_.max_sessions) sessions_.erase(sessions_.begin());
  return true;
}

std::string trace_generator::describe() const {
  return "generated requests, seed " + std::to_string(seed_);
}

}  // namespace kvc::sim
