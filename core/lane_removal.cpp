// How lane_blocks takes names away: a chain's end at once where one cutoff tells it, else one by one.
#include <algorithm>
#include <utility>

#include "core/event.hpp"
#include "core/lane_blocks.hpp"
#include "core/quiescence.hpp"

namespace kvc::core {

/// Removes the first of `names` and as many of the next as go with it by moving one cutoff; 0 when it is not that simple.
std::size_t lane_blocks::remove_tail(std::span<const engine_hash> names, medium_id medium, const removal_scope& from, apply_tally& tally) {
  // Odd names need no looking out for: what a holding without exceptions holds is plain, and a name that is plain is not odd.
  const auto hit = holdings_.find_plain_on(space_, names[0], medium);
  if (hit.which == lane_holdings::none) return 0;
  if (!is_within(holdings_.at(hit.which).home, from)) return 0;
  const std::uint32_t count = holdings_.tail_of(hit.which, hit.offset, names);
  if (count == 0) return 0;
  // An event may go on with the end of another chain, which nothing could follow before this one's length was known.
  const engine_hash* const next = count < names.size() ? &names[count] : nullptr;
  if (next != nullptr) holdings_.expect(2, space_, *next);
  const std::uint32_t kept = holdings_.at(hit.which).cutoff - count;
  if (holdings_.media() == mask_of(medium)) {
    known_ -= count;
  } else {
    for (std::uint32_t i = 0; i < count; ++i) known_ -= holdings_.is_plain_elsewhere(hit.which, kept + i) ? 0U : 1U;
  }
  count_gone(holdings_.at(hit.which).home, medium, count);
  tally.removed += count;
  holdings_.release_plain_from(hit.which, kept);
  if (next != nullptr) holdings_.expect(3, space_, *next);
  holdings_.close_if_empty(hit.which);
  if (next != nullptr) holdings_.expect(4, space_, *next);
  return count;
}

void lane_blocks::remove(std::span<const engine_hash> names, medium_id medium, const removal_scope& from, apply_tally& tally) {
  const quiescent_scope working;
  while (!names.empty()) {
    std::size_t done = remove_tail(names, medium, from, tally);
    if (done == 0) {
      remove_one(names[0], medium, from, tally);
      done = 1;
    }
    names = names.subspan(done);
  }
}

bool lane_blocks::is_within(std::uint16_t home, const removal_scope& from) const {
  const partition& asked = *homes_[home];
  if (&asked == from.home) return true;
  return !from.is_explicit && (from.named == nullptr || is_in_scope(asked.key(), *from.named, from.any_size));
}

/// Whether a removal may mean what `name` means at a place.
bool lane_blocks::may_be_meant(engine_hash name, const place& of, const removal_scope& from) const {
  if (is_within(of.home, from)) return true;
  const quiescent_scope reading;
  return !says_place(name, of);
}

/// Which of the copies on a medium a removal means: that of the partition it names, else the newest one it may mean.
lane_blocks::copies::iterator lane_blocks::removed_copy(engine_hash name, copies& all, medium_id medium, const removal_scope& from) const {
  auto newest = all.end();
  for (auto each = all.begin(); each != all.end(); ++each) {
    if (each->medium != medium) continue;
    if (homes_[each->where.home].get() == from.home) return each;
    if (may_be_meant(name, each->where, from)) newest = each;
  }
  return newest;
}

void lane_blocks::remove_one(engine_hash name, medium_id medium, const removal_scope& from, apply_tally& tally) {
  if (copies* const odd = odd_.empty() ? nullptr : odd_.find(name); odd != nullptr) {
    copies& all = *odd;
    const auto on_medium = removed_copy(name, all, medium, from);
    if (on_medium != all.end()) {
      if (options_.copy_counting && --on_medium->count != 0) return;
      let_go(*on_medium);
      all.erase(on_medium);
      ++tally.removed;
      if (!all.empty()) return;
      odd_.erase(name);
      --known_;
      return;
    }
  } else if (const auto hit = holdings_.find_plain_on(space_, name, medium); hit.which != lane_holdings::none) {
    const holding& in = holdings_.at(hit.which);
    if (may_be_meant(name, {{in.in, hit.offset}, {}, in.home}, from)) {
      let_go_plain(hit.which, hit.offset);
      ++tally.removed;
      return;
    }
  }
  if (orphan* const lost = waiting_.find(name); lost != nullptr) {
    auto& media = lost->copies;
    const auto on_medium = std::ranges::find(media, medium, &std::pair<medium_id, std::uint32_t>::first);
    const bool is_of_others = from.is_explicit && lost->parent && homes_[lost->home].get() != from.home;
    if (on_medium != media.end() && !is_of_others) {
      if (options_.copy_counting && --on_medium->second != 0) return;
      media.erase(on_medium);
      if (media.empty()) forget_orphan(name);
      return;
    }
  }
  ++tally.unknown_removals;
}

}  // namespace kvc::core
