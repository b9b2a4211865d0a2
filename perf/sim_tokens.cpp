#include "perf/sim_tokens.hpp"

#include <algorithm>
#include <bit>

#include "perf/sim_mix.hpp"

namespace kvc::sim {
namespace {

// Keeps generated text apart from trace blocks: no trace names that many blocks.
constexpr std::uint64_t output_text = std::uint64_t{1} << 63;

void append_text(std::uint64_t name, std::uint32_t count, std::vector<std::uint32_t>& out) {
  const std::uint64_t start = mix(name);
  for (std::uint32_t i = 0; i < count; ++i) out.push_back(scale(mix(start + i), vocabulary));
}

}  // namespace

void append_prompt(const trace_request& request, std::vector<std::uint32_t>& out) {
  out.reserve(out.size() + request.input_length + request.output_length);
  std::uint32_t left = request.input_length;
  for (const auto id : request.hash_ids) {
    const auto here = std::min(left, trace_block_tokens);
    append_text(id, here, out);
    left -= here;
  }
}

void append_output(std::uint64_t request_number, std::uint32_t count, std::vector<std::uint32_t>& out) {
  append_text(output_text | request_number, count, out);
}

void append_chain(std::span<const std::uint32_t> tokens, std::uint32_t block_size, std::vector<std::uint64_t>& out) {
  const std::size_t blocks = tokens.size() / block_size;
  out.reserve(out.size() + blocks);
  std::uint64_t previous = 0x51D7A11CE0FB10C5U;
  for (std::size_t block = 0; block < blocks; ++block) {
    // Each step is reversible, so two different blocks after the same prefix meet no sooner than chance has it.
    std::uint64_t state = previous;
    for (const auto token : tokens.subspan(block * block_size, block_size)) {
      state = std::rotl((state ^ token) * 0xD6E8FEB86659FD93U, 29);
    }
    previous = mix(state);
    out.push_back(previous);
  }
}

void make_turn(const trace_request& request, std::uint64_t number, std::uint32_t block_size, turn& out) {
  out.number = number;
  out.timestamp_ms = request.timestamp_ms;
  out.tokens.clear();
  out.chain.clear();
  append_prompt(request, out.tokens);
  out.prompt_tokens = out.tokens.size();
  if (request.output_length > 1) append_output(number, request.output_length - 1, out.tokens);
  append_chain(out.tokens, block_size, out.chain);
  out.prompt_blocks = out.prompt_tokens / block_size;
}

}  // namespace kvc::sim
