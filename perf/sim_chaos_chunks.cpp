// What a cache beside a chaos engine (LMCache) stores: chunks of its own size under its own names, told of in the engine's stream and never
// taken back.
#include <algorithm>
#include <span>
#include <utility>

#include "perf/sim_chaos_engine.hpp"

namespace kvc::sim {
namespace {

constexpr std::uint64_t chunk_mark = 0xC4A2;

/// Its names are of all tokens up to the chunk's end.
std::uint64_t name_of_chunk(std::uint64_t secret, std::span<const std::uint32_t> prefix) {
  std::uint64_t name = secret ^ chunk_mark;
  for (const std::uint32_t token : prefix) name = mix(name ^ token);
  return name;
}

}  // namespace

/// The first chunk of a prompt that is not there yet, or the last one again; that one may be shorter. What is told as its parent is the
/// chunk before it.
void chaos_engine::store_chunk(const telling& to) {
  const auto& prompts = text_->prompts();
  const path& prompt = prompts[random_.below(static_cast<std::uint32_t>(prompts.size()))];
  const std::vector<std::uint32_t> tokens = text_->tokens(prompt, 0, prompt.size());
  auto& known = chunks_[to.rank];
  std::vector<std::uint64_t> numbers;  // of the batches that told of what stands before
  core::stored_event told;
  std::size_t begin = 0;
  std::size_t end = 0;
  std::uint64_t name = 0;
  for (;; begin = end) {
    end = std::min(tokens.size(), begin + profile_.chunk_tokens);
    name = name_of_chunk(secret_, std::span(tokens).first(end));
    if (!known.contains(name) || end == tokens.size()) break;
    numbers = known.at(name);
    told.parent = core::engine_hash{name};
  }
  numbers.push_back(to.number);
  known[name] = numbers;
  for (std::size_t block = begin / chaos_text::block_size; block < end / chaos_text::block_size; ++block) {
    to.cache->cover(prompt[block], numbers);
  }
  told.scope = scope_of(to, 1);
  told.scope.block_size = static_cast<std::uint32_t>(end - begin);
  told.hashes.emplace_back(name);
  told.tokens.assign(tokens.begin() + static_cast<std::ptrdiff_t>(begin), tokens.begin() + static_cast<std::ptrdiff_t>(end));
  told.has_tokens = true;
  coverage_.add(chaos_trait::chunk);
  to.out->story += " chunk " + std::to_string(begin) + ".." + std::to_string(end) + " of";
  for (const std::uint32_t block : prompt) to.out->story += " " + std::to_string(block);
  to.out->batch.events.emplace_back(std::move(told));
}

}  // namespace kvc::sim
