// How lane_blocks gives up what the byte budget of the index has no room for, in bounded pieces.
#include <algorithm>
#include <limits>

#include "core/eviction.hpp"
#include "core/lane_blocks.hpp"
#include "core/quiescence.hpp"

namespace kvc::core {
namespace {

constexpr std::size_t bytes_per_orphan_beside = 128;  ///< in two tables and a list

}  // namespace

bool lane_blocks::evict_some(eviction_pass& pass, std::size_t& budget, const std::function<void()>& before_first, apply_tally& tally) {
  if (is_clearing_) {
    pass.note_passed_over();
    return true;
  }
  const quiescent_scope looking;  // judging a run reads its column, which others may replace meanwhile
  if (evicting_.pass != pass.number()) evicting_ = {.pass = pass.number(), .holdings = holdings_.end(), .odd_names = {}};
  if (pass.gives_up_waiting() && !give_up_waiting(pass, budget, before_first, tally)) return false;
  evicting_.holdings = std::min(evicting_.holdings, holdings_.end());  // they may all have gone since the last call
  // From the newest down: a run is mostly held before what stands behind it, so that a chain may go from its end in one pass.
  while (evicting_.holdings != 0) {
    if (budget == 0) return false;
    --budget;
    evict_holding(--evicting_.holdings, pass, budget, before_first, tally);
  }
  if (!holdings_.give_back_some(budget)) return false;
  for (std::vector<engine_hash> names;; budget -= std::min(budget, names.size() + 1)) {
    if (odd_.empty()) return true;
    if (budget == 0) return false;
    if (!odd_.next_bucket(evicting_.odd_names, names)) return true;
    for (const engine_hash name : names) evict_odd(name, pass, before_first, tally);
  }
}

/// False when the budget was used up before nothing of this worker waits.
bool lane_blocks::give_up_waiting(eviction_pass& pass, std::size_t& budget, const std::function<void()>& before_first, apply_tally& tally) {
  if (waiting_.empty()) return true;
  if (budget == 0) return false;
  before_first();
  // In the order of the stream's line, in which those of its other workers stand as well; all of them go in this pass.
  for (; !waiting_.empty(); --budget) {
    if (budget == 0) return false;
    const orphan_line::entry oldest = ages_->all().front();
    oldest.of->forget_orphan(oldest.name);
    ++tally.dropped_orphans;
    pass.note_given_up(1);
  }
  return true;
}

void lane_blocks::evict_holding(std::uint32_t which, eviction_pass& pass, std::size_t& budget, const std::function<void()>& before_first,
                                apply_tally& tally) {
  const holding& held = holdings_.at(which);
  if (held.in == nullptr) return;
  eviction_pass::account* const payer = pass.account_of(homes_[held.home].get());
  if (payer == nullptr || !pass.condemns(*held.in, *payer)) return;
  before_first();
  const std::uint64_t removed_before = tally.removed;
  std::size_t whole = std::numeric_limits<std::size_t>::max();
  (void)clear_holding(which, whole, tally);
  const std::uint64_t gone = tally.removed - removed_before;
  pass.note_evicted(*payer, gone);
  budget -= std::min<std::uint64_t>(budget, gone);
}

void lane_blocks::evict_odd(engine_hash name, eviction_pass& pass, const std::function<void()>& before_first, apply_tally& tally) {
  copies& all = *odd_.find(name);
  const auto payer_of = [&](const copy& each) { return pass.account_of(homes_[each.where.home].get()); };
  const auto goes = [&](const copy& each) {
    eviction_pass::account* const payer = payer_of(each);
    if (payer == nullptr) return false;
    const run* const in = each.where.where.in;
    return in == nullptr ? pass.condemns_lone_block(*payer) : eviction_pass::is_condemned(*in);
  };
  const bool are_apart = std::ranges::all_of(all, [&](const copy& each) { return says_place(name, each.where); });
  if (!are_apart && std::ranges::none_of(all, goes)) return;
  for (auto each = all.begin(); each != all.end();) {
    if (are_apart && !goes(*each)) {
      ++each;
      continue;
    }
    before_first();
    if (eviction_pass::account* const payer = payer_of(*each)) pass.note_evicted(*payer, 1);
    let_go(*each);
    ++tally.removed;
    each = all.erase(each);
  }
  if (!all.empty()) return;
  odd_.erase(name);
  --known_;
}

std::size_t lane_blocks::bytes() const noexcept {
  constexpr std::size_t bytes_per_holding = sizeof(holding) + 24;  // and an entry of the map, which not every one has
  constexpr std::size_t bytes_per_odd_name = sizeof(engine_hash) + sizeof(copies) + 32;
  return holdings_.size() * bytes_per_holding + odd_.size() * bytes_per_odd_name + waiting_bytes();
}

std::size_t lane_blocks::waiting_bytes() const noexcept {
  return waiting_.size() * (sizeof(orphan) + bytes_per_orphan_beside);
}

}  // namespace kvc::core
