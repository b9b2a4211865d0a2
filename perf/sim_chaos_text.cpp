#include "perf/sim_chaos_text.hpp"

#include "core/block_hasher.hpp"

namespace kvc::sim {
namespace {

constexpr std::uint32_t any_token = 128'000;  // as in the vocabularies of current models

}  // namespace

chaos_text::chaos_text(dice& random) {
  const std::uint32_t prompts = random.between(3, 5);
  for (std::uint32_t i = 0; i < prompts; ++i) {
    path next;
    if (i > 0) {
      const path& like = prompts_[random.below(i)];
      next.assign(like.begin(), like.begin() + random.below(static_cast<std::uint32_t>(like.size())));
    }
    const std::uint32_t length = random.between(static_cast<std::uint32_t>(next.size()) + 1, 8);
    while (next.size() < length) next.push_back(grow(next, random));
    prompts_.push_back(std::move(next));
  }
}

std::uint32_t chaos_text::grow(const path& behind, dice& random) {
  block made;
  for (std::uint32_t i = 0; i < block_size; ++i) made.tokens.push_back(random.below(any_token));
  const core::local_hash local = core::hash_block(made.tokens, core::default_hash_seed);
  made.standard_name = behind.empty()
                           ? core::first_in_sequence(local).get()
                           : core::roll(core::seq_hash{blocks_[behind.back()].standard_name}, local, core::default_hash_seed).get();
  blocks_.push_back(std::move(made));
  return static_cast<std::uint32_t>(blocks_.size() - 1);
}

std::vector<std::uint32_t> chaos_text::tokens(const path& prompt, std::size_t first, std::size_t last) const {
  std::vector<std::uint32_t> all;
  for (std::size_t i = first; i < last; ++i) all.insert(all.end(), blocks_[prompt[i]].tokens.begin(), blocks_[prompt[i]].tokens.end());
  return all;
}

}  // namespace kvc::sim
