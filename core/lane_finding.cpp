// How lane_holdings finds what it holds: by run, and by name with guesses first.
#include <algorithm>
#include <bit>
#include <utility>

#include "core/lane_holdings.hpp"

namespace kvc::core {

std::uint32_t lane_holdings::find(const run* in, medium_id medium) const {
  if (const std::uint64_t here = in->found_here.load(std::memory_order_relaxed); here >> 32 == worker_.get() && here != 0) {
    const std::uint32_t which = static_cast<std::uint32_t>(here) - 1;
    if (which < all_.size() && all_[which].in == in && all_[which].medium == medium) return which;
  }
  const std::uint32_t* const found = by_run_.find(key(in, medium));
  return found == nullptr ? none : *found;
}

/// Lets holding number `which` be found by its run: most runs have one holder, who needs no entry of the map then. False when the map has
/// to lead to it. Throws std::bad_alloc, and then nothing has changed.
bool lane_holdings::note_holding(run* in, medium_id medium, std::uint32_t which) {
  std::uint64_t of_nobody = 0;
  const std::uint64_t mine = std::uint64_t{worker_.get()} << 32 | (which + 1);
  if (in->found_here.compare_exchange_strong(of_nobody, mine, std::memory_order_relaxed)) return true;
  by_run_.add(key(in, medium), which);
  return false;
}

void lane_holdings::forget_holding(const holding& closed) {
  if (closed.is_found_in_run) {
    closed.in->found_here.store(0, std::memory_order_relaxed);
  } else {
    by_run_.erase(key(closed.in, closed.medium));
  }
}

/// The same, looking first whether it is holding number `guess`, or the last trunk, which is less to bring near than a way through the map.
std::uint32_t lane_holdings::find_guessing(const run* in, medium_id medium, std::uint32_t guess) const {
  for (const std::uint32_t which : {guess, last_trunk_}) {
    if (which < all_.size() && all_[which].in == in && all_[which].medium == medium) return which;
  }
  return find(in, medium);
}

void lane_holdings::remember(bookmark& as, std::uint32_t which, std::uint32_t offset) {
  as = {which, offset, names_->turn_of(this)};
  if (all_[which].list != holding::no_list) names_->at(all_[which].list).last_holding = which;
}

/// The names at a bookmark of this turn; null when there are none any more.
const naming* lane_holdings::list_at(const bookmark& of) const noexcept {
  if (of.which == none || of.turn != names_->turn() || all_[of.which].list == holding::no_list) return nullptr;
  return &std::as_const(*names_).at(all_[of.which].list);
}

/// The offset at which `name` stands in the list of a bookmark, so many blocks behind it as one of `likely`; `none` when it does not.
std::uint32_t lane_holdings::neighbour(const bookmark& of, std::array<std::int32_t, 3> likely, engine_hash name) const {
  const naming* const list = list_at(of);
  if (list == nullptr) return none;
  const auto at = [&of](std::int32_t behind) { return of.offset + static_cast<std::uint32_t>(behind); };  // before the first: far away
  for (const std::int32_t behind : likely) {
    if (list->has(at(behind), name)) return at(behind);
  }
  return none;
}

bool lane_holdings::is_next_removed(engine_hash name) const noexcept {
  const naming* const list = list_at(removed_);
  if (list == nullptr) return false;
  constexpr std::uint32_t between = 4;  // as many events as are looked ahead for
  const std::uint32_t end = std::min(removed_.offset, list->end());
  for (std::uint32_t offset = end; offset > list->first && offset + between > end; --offset) {
    if (list->names[offset - 1 - list->first] == name) return true;
  }
  return false;
}

lane_holdings::plain_hit lane_holdings::find_plain_on(std::uint64_t space, engine_hash name, medium_id medium) {
  // Removals mostly come from the end of a chain backwards, each going on where the one before it ended.
  const std::uint32_t guess = neighbour(removed_, {-1, 0, 1}, name);
  if (guess != none && all_[removed_.which].medium == medium && is_plain(removed_.which, guess)) {
    removed_.offset = guess;
    return {removed_.which, guess};
  }
  const auto spot = names_->find(space, name);
  if (!spot) return {};
  const naming& list = names_->at(spot->list);
  const std::uint32_t which = find_guessing(list.in, medium, list.last_holding);
  if (which == none || all_[which].list != spot->list || !is_plain(which, spot->offset)) return {};
  remember(removed_, which, spot->offset);
  return {which, spot->offset};
}

std::optional<lane_holdings::plain_block> lane_holdings::find_plain(std::uint64_t space, engine_hash name) {
  // A store's parent is mostly the block stored last.
  const std::uint32_t guess = neighbour(stored_, {0, 1, -1}, name);
  if (guess != none && is_plain(stored_.which, guess)) {
    const holding& in = all_[stored_.which];
    last_found_ = stored_.which;
    return plain_block{in.in, guess, in.list, in.home};
  }
  const auto spot = names_->find(space, name);
  if (!spot) return std::nullopt;
  plain_block found{names_->at(spot->list).in, spot->offset, spot->list, 0};
  for (unsigned rest = media_; rest != 0; rest &= rest - 1) {
    const std::uint32_t which = plain_on(found, static_cast<medium_id>(std::countr_zero(rest)));
    if (which == none) continue;
    found.home = all_[which].home;
    last_trunk_ = which;
    return found;
  }
  return std::nullopt;
}

std::uint32_t lane_holdings::plain_on(const plain_block& block, medium_id medium) const {
  const std::uint32_t which = find_guessing(block.in, medium, names_->at(block.list).last_holding);
  if (which == none || all_[which].list != block.list || !is_plain(which, block.offset)) return none;
  last_found_ = which;
  return which;
}

bool lane_holdings::is_plain_elsewhere(std::uint32_t which, std::uint32_t offset) const {
  const holding& here = all_[which];
  const plain_block block{here.in, offset, here.list, here.home};
  for (unsigned rest = media_ & ~unsigned{mask_of(here.medium)}; rest != 0; rest &= rest - 1) {
    if (plain_on(block, static_cast<medium_id>(std::countr_zero(rest))) != none) return true;
  }
  return false;
}

}  // namespace kvc::core
