// What a chaos engine tells of KV-cache groups that are not of the whole prefix (sliding windows and the like): it never counts.
#include <algorithm>
#include <utility>

#include "perf/sim_chaos_engine.hpp"

namespace kvc::sim {

/// The names are those of the blocks that answers do count, as in an engine: whoever takes one group for the other finds what is not there,
/// or loses what is.
void chaos_engine::speak_of_window(const telling& to) {
  constexpr std::uint32_t most_blocks = 4;
  const auto& prompts = text_->prompts();
  const path& prompt = prompts[random_.below(static_cast<std::uint32_t>(prompts.size()))];
  const auto length = static_cast<std::uint32_t>(prompt.size());
  const std::uint32_t first = random_.below(length);
  const std::uint32_t last = std::min(length, first + random_.between(1, most_blocks));
  const std::size_t place = to.form->has_media && random_.below(3) == 0 ? 1 : 0;
  core::event_scope scope = scope_of(to, place);
  scope.group = random_.between(1, 2);
  scope.prefix_complete = false;
  std::vector<core::engine_hash> names;
  // What a window has passed is left out of the names, not of the tokens.
  const std::uint32_t first_named = random_.below(4) == 0 ? std::min(first + 1, last - 1) : first;
  for (std::uint32_t i = first_named; i < last; ++i) names.push_back(name_in(to, prompt[i]));
  coverage_.add(chaos_trait::window_group);
  to.out->story += " window " + std::to_string(scope.group);
  if (random_.below(3) == 0) {
    core::removed_event told;
    told.scope = std::move(scope);
    told.hashes = std::move(names);
    to.out->story += " remove";
    to.out->batch.events.emplace_back(std::move(told));
    return;
  }
  core::stored_event told;
  told.scope = std::move(scope);
  told.scope.block_size = chaos_text::block_size;
  told.hashes = std::move(names);
  if (first > 0) told.parent = name_in(to, prompt[first - 1]);
  told.tokens = text_->tokens(prompt, first, last);
  told.has_tokens = true;
  to.out->batch.events.emplace_back(std::move(told));
}

}  // namespace kvc::sim
