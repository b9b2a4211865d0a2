// Requests to token ids, and token ids to the chain of blocks every simulated engine agrees on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "perf/sim_request.hpp"

namespace kvc::sim {

/// Token ids are below this, as in the vocabularies of current models.
inline constexpr std::uint32_t vocabulary = 128'000;

/// Appends the prompt: exactly `input_length` tokens, each derived from its trace block's name and its place in it. Pure.
/// Precondition: hash_ids covers the input.
void append_prompt(const trace_request& request, std::vector<std::uint32_t>& out);

/// Appends `count` generated tokens, derived from the number of the request, so no two requests generate the same text. Pure.
void append_output(std::uint64_t request_number, std::uint32_t count, std::vector<std::uint32_t>& out);

/// Appends one value per complete block: it stands for the block and everything before it. Unrelated to the service's own hashes on
/// purpose, so that agreement between the two proves something. Pure. Precondition: block_size is at least 1.
void append_chain(std::span<const std::uint32_t> tokens, std::uint32_t block_size, std::vector<std::uint64_t>& out);

/// One request made concrete. Reused between requests to keep its memory.
struct turn {
  std::uint64_t number = 0;  ///< of the request in its trace, from 0
  std::uint64_t timestamp_ms = 0;
  std::vector<std::uint32_t> tokens;  ///< the prompt, then what the engine computes while it answers
  std::size_t prompt_tokens = 0;
  std::vector<std::uint64_t> chain;  ///< one per complete block of `tokens`
  std::size_t prompt_blocks = 0;     ///< complete blocks of the prompt alone; at most chain.size()

  [[nodiscard]] std::span<const std::uint32_t> prompt() const noexcept { return std::span(tokens).first(prompt_tokens); }
};

/// Fills `out` from a request. The last generated token is left out: an engine never computes its attention state. Pure.
void make_turn(const trace_request& request, std::uint64_t number, std::uint32_t block_size, turn& out);

}  // namespace kvc::sim
