// How lane_holdings finds what it holds: by run, and by name with guesses first.
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

/// The same, looking first whether it is holding number `guess`, which is less to bring near than a way through the map.
std::uint32_t lane_holdings::find_guessing(const run* in, medium_id medium, std::uint32_t guess) const {
  if (guess < all_.size() && all_[guess].in == in && all_[guess].medium == medium) return guess;
  return find(in, medium);
}

void lane_holdings::remember(std::uint32_t which, std::uint32_t offset) {
  last_ = which;
  last_offset_ = offset;
  names_->note_turn_of(this);
  if (all_[which].list != holding::no_list) names_->at(all_[which].list).last_holding = which;
}

/// The offset at which `name` stands beside the last block found, in the same list; `none` when it does not.
std::uint32_t lane_holdings::neighbour(engine_hash name) const {
  if (!names_->is_turn_of(this) || last_ == none || all_[last_].list == holding::no_list) return none;
  const naming& list = names_->at(all_[last_].list);
  // Removals mostly come from the end of a chain backwards, and a store's parent is mostly the block stored last.
  if (last_offset_ != 0 && list.has(last_offset_ - 1, name)) return last_offset_ - 1;
  if (list.has(last_offset_, name)) return last_offset_;
  if (list.has(last_offset_ + 1, name)) return last_offset_ + 1;
  return none;
}

lane_holdings::plain_hit lane_holdings::find_plain_on(std::uint64_t space, engine_hash name, medium_id medium) {
  const std::uint32_t guess = neighbour(name);
  if (guess != none && all_[last_].medium == medium && is_plain(last_, guess)) {
    last_offset_ = guess;
    return {last_, guess};
  }
  const auto spot = names_->find(space, name);
  if (!spot) return {};
  const naming& list = names_->at(spot->list);
  const std::uint32_t which = find_guessing(list.in, medium, list.last_holding);
  if (which == none || all_[which].list != spot->list || !is_plain(which, spot->offset)) return {};
  remember(which, spot->offset);
  return {which, spot->offset};
}

std::optional<lane_holdings::plain_block> lane_holdings::find_plain(std::uint64_t space, engine_hash name) {
  const std::uint32_t guess = neighbour(name);
  if (guess != none && is_plain(last_, guess)) {
    last_found_ = last_;
    return plain_block{all_[last_].in, guess, all_[last_].list, all_[last_].home};
  }
  const auto spot = names_->find(space, name);
  if (!spot) return std::nullopt;
  plain_block found{names_->at(spot->list).in, spot->offset, spot->list, 0};
  for (unsigned rest = media_; rest != 0; rest &= rest - 1) {
    const std::uint32_t which = plain_on(found, static_cast<medium_id>(std::countr_zero(rest)));
    if (which == none) continue;
    found.home = all_[which].home;
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
