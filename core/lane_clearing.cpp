// How lane_blocks forgets everything, or everything on some media, in bounded pieces.
#include <algorithm>
#include <utility>

#include "core/lane_blocks.hpp"
#include "core/quiescence.hpp"

namespace kvc::core {

bool lane_blocks::clear_some(media_mask which, const partition* only, std::size_t budget, apply_tally& tally) {
  const quiescent_scope working;
  if (!is_clearing_) {
    is_clearing_ = true;
    holdings_to_clear_ = holdings_.used();
    odd_to_clear_.clear();
    for (const auto& [name, all] : odd_) odd_to_clear_.push_back(name);
  }
  while (!holdings_to_clear_.empty()) {
    if (budget == 0) return false;
    const std::uint32_t next = holdings_to_clear_.back();
    const holding& held = holdings_.at(next);
    const bool goes = (mask_of(held.medium) & which) != 0 && (only == nullptr || homes_[held.home].get() == only);
    const std::size_t blocks = goes ? std::max<std::size_t>(held.cutoff, held.more ? held.more->count : 0) : 0;
    // A holding goes as a whole: a run is bounded, and the cutoff goes in one step.
    holdings_to_clear_.pop_back();
    if (goes) clear_holding(next, tally);
    budget -= std::min(budget, blocks + 1);
  }
  for (; !odd_to_clear_.empty(); --budget) {
    if (budget == 0) return false;
    clear_odd(odd_to_clear_.back(), which, only, tally);
    odd_to_clear_.pop_back();
  }
  is_clearing_ = false;
  clear_orphans(which, only);  // few (bounded by max_orphans), so they go in one pass
  return true;
}

void lane_blocks::clear_holding(std::uint32_t which, apply_tally& tally) {
  const holding& held = holdings_.at(which);
  const bool is_alone = holdings_.media() == mask_of(held.medium);
  const std::uint32_t end = held.more ? static_cast<std::uint32_t>(held.more->plain.size() * 64) : held.cutoff;
  std::uint64_t plain = 0;
  for (std::uint32_t offset = 0; offset < end; ++offset) {
    if (held.more && !holdings_.is_plain(which, offset)) continue;
    ++plain;
    if (is_alone || !holdings_.is_plain_elsewhere(which, offset)) --known_;
  }
  held_[static_cast<std::size_t>(held.medium)] -= plain;
  tally.removed += plain;
  holdings_.release_all_plain(which);
  holdings_.close_if_empty(which);
}

void lane_blocks::clear_odd(engine_hash name, media_mask which, const partition* only, apply_tally& tally) {
  const auto found = odd_.find(name);
  copies& all = found->second;
  for (auto each = all.begin(); each != all.end();) {
    const bool goes = (mask_of(each->medium) & which) != 0 && (only == nullptr || homes_[each->where.home].get() == only);
    if (goes) {
      let_go(*each);
      ++tally.removed;
    }
    each = goes ? all.erase(each) : std::next(each);
  }
  if (!all.empty()) return;
  odd_.erase(found);
  --known_;
}

void lane_blocks::clear_orphans(media_mask which, const partition* only) {
  for (auto age = orphan_ages_.begin(); age != orphan_ages_.end();) {
    const engine_hash name = *age++;
    orphan& lost = waiting_.at(name);
    if (only != nullptr && homes_[lost.home].get() != only) continue;
    auto& media = lost.copies;
    const auto gone = std::ranges::remove_if(media, [&](const auto& each) { return (mask_of(each.first) & which) != 0; });
    media.erase(gone.begin(), gone.end());
    if (media.empty()) forget_orphan(name);
  }
}

}  // namespace kvc::core
