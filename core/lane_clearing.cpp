// How lane_blocks forgets everything, or everything on some media, in bounded pieces.
#include <algorithm>
#include <utility>

#include "core/lane_blocks.hpp"

namespace kvc::core {

bool lane_blocks::is_among(std::uint16_t home, std::span<const partition* const> only) const {
  return only.empty() || std::ranges::find(only, homes_[home].get()) != only.end();
}

bool lane_blocks::clear_some(media_mask which, std::span<const partition* const> only, std::size_t budget, apply_tally& tally) {
  if (!is_clearing_) {
    forget_arrivals();  // of a batch that was left in the middle
    is_clearing_ = true;
    holdings_.freeze(true);  // no others come meanwhile
    holdings_to_clear_ = holdings_.end();
    odd_to_clear_ = {};
    orphans_to_clear_ = {};
  }
  while (holdings_to_clear_ != 0 && holdings_.size() != 0) {
    if (budget == 0) return false;
    const std::uint32_t next = holdings_to_clear_ - 1;
    const holding& held = holdings_.at(next);
    const bool goes = held.in != nullptr && (mask_of(held.medium) & which) != 0 && is_among(held.home, only);
    if (goes && !clear_holding(next, budget, tally)) return false;
    --holdings_to_clear_;
    if (!goes) --budget;
  }
  std::vector<engine_hash> names;
  while (!odd_.empty()) {
    if (budget == 0) return false;
    if (!odd_.next_bucket(odd_to_clear_, names)) break;
    std::size_t cost = names.size() + 1;
    for (const engine_hash name : names) cost += clear_odd(name, which, only, tally);
    budget -= std::min(budget, cost);
  }
  if (!clear_orphans(which, only, budget)) return false;
  if (holdings_.size() == 0 && odd_.empty()) forget_counts();
  if (!holdings_.give_back_some(budget)) return false;
  is_clearing_ = false;
  holdings_.freeze(false);
  return true;
}

/// With nothing held. What something thrown has left half done may have been counted and not held, or the other way round.
void lane_blocks::forget_counts() {
  known_ = 0;
  held_.fill(0);
  for (const auto& each : entries_) each->entries.subtract(each->entries.get());
}

/// Takes from the budget what goes, and something for what is looked at, as blocks under odd names are in vain.
bool lane_blocks::clear_holding(std::uint32_t which, std::size_t& budget, apply_tally& tally) {
  const holding& held = holdings_.at(which);
  const bool is_alone = holdings_.media() == mask_of(held.medium);
  const medium_id medium = held.medium;
  constexpr std::uint32_t looks_per_name = 16;  // in the time in which a name is forgotten, roughly
  // From the end, so that the cutoff moves and no holes appear on the way.
  const std::uint32_t blocks = held.more ? static_cast<std::uint32_t>(held.more->plain.size() * 64) : held.cutoff;
  std::uint32_t end = blocks;
  std::uint64_t gone = 0;
  std::uint32_t kept = end;
  for (; end != 0 && gone < budget; --end) {
    if (!holdings_.is_plain(which, end - 1)) continue;
    ++gone;
    kept = end - 1;
    if (is_alone || !holdings_.is_plain_elsewhere(which, end - 1)) --known_;
  }
  while (end != 0 && !holdings_.is_plain(which, end - 1)) --end;  // nothing left: the holding may be closed below
  count_gone(held.home, medium, gone);
  tally.removed += gone;
  // However little there is, something has gone, or this was the last look at the holding.
  budget -= std::min<std::uint64_t>(budget, gone + 1 + (blocks - end) / looks_per_name);
  holdings_.release_plain_from(which, kept);
  holdings_.close_if_empty(which);
  return end == 0;
}

/// Answers how many names of lists have gone with it: nobody else uses them.
std::size_t lane_blocks::clear_odd(engine_hash name, media_mask which, std::span<const partition* const> only, apply_tally& tally) {
  copies& all = *odd_.find(name);
  std::size_t listed = 0;
  for (auto each = all.begin(); each != all.end();) {
    const bool goes = (mask_of(each->medium) & which) != 0 && is_among(each->where.home, only);
    if (goes) {
      listed += let_go(*each);
      ++tally.removed;
    }
    each = goes ? all.erase(each) : std::next(each);
  }
  if (!all.empty()) return listed;
  odd_.erase(name);
  --known_;
  return listed;
}

/// By buckets: other workers of the stream may give up orphans of this one between two calls.
bool lane_blocks::clear_orphans(media_mask which, std::span<const partition* const> only, std::size_t& budget) {
  constexpr std::size_t buckets_per_name = 16;  // that are looked at in the time in which a name is forgotten, roughly
  std::vector<engine_hash> names;
  for (std::size_t buckets = 1; !waiting_.empty(); ++buckets) {
    if (budget == 0) return false;
    if (!waiting_.next_bucket(orphans_to_clear_, names)) break;
    for (const engine_hash name : names) {
      orphan& lost = *waiting_.find(name);
      if (!is_among(lost.home, only)) continue;
      auto& media = lost.copies;
      const auto gone = std::ranges::remove_if(media, [&](const auto& each) { return (mask_of(each.first) & which) != 0; });
      media.erase(gone.begin(), gone.end());
      if (media.empty()) forget_orphan(name);
    }
    budget -= std::min(budget, names.size() + (buckets % buckets_per_name == 0 ? 1 : 0));
  }
  return true;
}

}  // namespace kvc::core
