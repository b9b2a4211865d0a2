// What lane_blocks tells pools: which blocks the names of an engine mean.
#include "core/block_hasher.hpp"
#include "core/lane_blocks.hpp"
#include "core/quiescence.hpp"

namespace kvc::core {

std::optional<lane_blocks::meaning> lane_blocks::meaning_of(engine_hash name) {
  const quiescent_scope reading;
  const auto here = any_place(name);
  if (!here) return std::nullopt;
  return meaning{homes_[here->home].get(), hash_of(*here)};
}

void lane_blocks::explain(engine_hash name, const place& here) const {
  if (!options_.explains_names) return;
  const partition& home = *homes_[here.home];
  if (!home.names()->is_in_use() || !home.names()->is_watched(name)) return;
  home.names()->tell(name, {name_meaning::state::known, home.adapter(), hash_of(here)});
}

void lane_blocks::explain(std::span<const engine_hash> names, std::span<const local_hash> locals, const run_stretch& where,
                          std::uint16_t home) const {
  if (!options_.explains_names || where.in == nullptr) return;
  const partition& in = *homes_[home];
  name_board& board = *in.names();
  if (!board.is_in_use()) return;
  // Neighbours are mostly watched together: the hash of each is one step from that of the one before.
  std::optional<seq_hash> previous;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!board.is_watched(names[i])) {
      previous.reset();
      continue;
    }
    previous =
        previous ? roll(*previous, locals[i], in.seed()) : seq_hash_at(*where.in, where.start + static_cast<std::uint32_t>(i), in.seed());
    board.tell(names[i], {name_meaning::state::known, in.adapter(), *previous});
  }
}

}  // namespace kvc::core
