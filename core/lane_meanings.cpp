// What lane_blocks tells of the names of an engine: which blocks they mean. For pools, and for queries by such names.
#include <algorithm>

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

void lane_blocks::meanings_of(engine_hash name, std::vector<meaning>& into) {
  into.clear();
  const copies* const odd = odd_.find(name);
  if (odd == nullptr) {
    if (const auto only = meaning_of(name)) into.push_back(*only);
    return;
  }
  const quiescent_scope reading;
  for (auto each = odd->rbegin(); each != odd->rend(); ++each) {
    const partition* const home = homes_[each->where.home].get();
    if (std::ranges::find(into, home, &meaning::home) == into.end()) into.push_back({home, hash_of(each->where)});
  }
}

bool lane_blocks::are_all_on(std::span<const engine_hash> names, const partition& home, medium_id medium) {
  const quiescent_scope reading;
  return std::ranges::all_of(names, [&](engine_hash name) {
    if (const copies* const odd = odd_.find(name); odd != nullptr) {
      return std::ranges::any_of(*odd, [&](const copy& each) { return each.medium == medium && homes_[each.where.home].get() == &home; });
    }
    const auto hit = holdings_.find_plain_on(space_, name, medium);
    return hit.which != lane_holdings::none && homes_[holdings_.at(hit.which).home].get() == &home;
  });
}

void lane_blocks::follow(const partition& home, std::span<const engine_hash> names, std::vector<seq_hash>& blocks, std::size_t& budget) {
  const auto mine = std::ranges::find(homes_, &home, [](const std::shared_ptr<partition>& each) { return each.get(); });
  if (mine == homes_.end()) return;
  const quiescent_scope reading;
  const auto which = static_cast<std::uint16_t>(mine - homes_.begin());
  for (; budget != 0 && blocks.size() < names.size(); --budget) {
    const engine_hash name = names[blocks.size()];
    if (const auto here = known_place(name, which)) {
      blocks.push_back(hash_of(*here));
    } else if (const auto told = home.told_block(name)) {
      blocks.push_back(*told);
    } else {
      return;
    }
  }
}

void lane_blocks::explain(engine_hash name, const place& here) const {
  if (!options_.explains_names) return;
  const partition& home = *homes_[here.home];
  if (!home.names()->is_in_use() || !home.names()->is_watched(name, home.adapter())) return;
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
    if (!board.is_watched(names[i], in.adapter())) {
      previous.reset();
      continue;
    }
    previous =
        previous ? roll(*previous, locals[i], in.seed()) : seq_hash_at(*where.in, where.start + static_cast<std::uint32_t>(i), in.seed());
    board.tell(names[i], {name_meaning::state::known, in.adapter(), *previous});
  }
}

}  // namespace kvc::core
