#include "perf/sim_chaos_ledger.hpp"

#include <algorithm>

namespace kvc::sim {
namespace {

constexpr std::uint64_t remembered = 16;  ///< batches that a conductor compares without asking for them

}  // namespace

void chaos_ledger::restart() {
  fates_.clear();
  ignored_from_.reset();
  repeats_ruins_ = false;
  is_listened_to_ = false;
  was_listened_to_ = false;
  has_broken_ = true;
  has_restarted_ = true;
}

void chaos_ledger::on_subscribed() {
  if (was_listened_to_) on_broken();  // one beside another takes its place
  is_listened_to_ = true;
  was_listened_to_ = true;
}

void chaos_ledger::on_broken() {
  is_listened_to_ = false;
  has_broken_ = true;
  for (auto& [number, each] : fates_) each.is_heard = false;
}

void chaos_ledger::ruin(std::uint64_t number, bool is_repeated) {
  fates_[number].is_ruined = true;
  repeats_ruins_ = repeats_ruins_ || is_repeated;
}

void chaos_ledger::send(std::uint64_t number, bool is_sound) {
  fate& of = fates_[number];
  of.is_sent = true;
  of.is_heard = of.is_heard || (is_sound && is_listened_to_);
}

bool chaos_ledger::is_recovery(std::uint64_t first, std::uint64_t next) const {
  if (has_broken_) return false;  // who comes back may be asked who it is
  const auto found = fates_.find(first);
  if (found == fates_.end() || !found->second.is_sent) return true;
  // A live batch behind which a replay has been read already is compared with it, by asking again where it is not remembered.
  const fate& of = found->second;
  return next <= first + remembered && !of.is_ruined && !of.is_left_out;
}

void chaos_ledger::give(std::uint64_t number, bool is_for_recovery) {
  fate& of = fates_[number];
  of.is_given = true;
  if (is_for_recovery) of.is_left_out = false;
}

void chaos_ledger::leave_out(std::uint64_t number) {
  fate& of = fates_[number];
  of.is_given = false;
  of.is_left_out = true;
}

void chaos_ledger::ignore(std::uint64_t first, std::uint64_t next) {
  ignored_from_ = std::min(first, ignored_from_.value_or(first));
  for (auto at = fates_.lower_bound(first); at != fates_.end() && at->first < next; ++at) leave_out(at->first);
}

bool chaos_ledger::may_be_lost(std::uint64_t number, const fate& of) const {
  if (of.is_ruined) return true;
  if (!answers_) return !of.is_heard;
  if (of.is_left_out) return true;
  // Who has found a replay as unreadable as the live batch does not ask for the next one; nor does who cannot tell whose replay it is.
  if (of.is_spoilt && (repeats_ruins_ || has_restarted_)) return true;
  const bool may_go_unasked = ignored_from_ && number >= *ignored_from_;
  return may_go_unasked && !of.is_heard && (has_broken_ || !of.is_given);
}

chaos_losses chaos_ledger::losses() const {
  chaos_losses found;
  // What of two lives was taken for one is given up without being asked for.
  found.anything = answers_ && has_restarted_ && ignored_from_;
  for (const auto& [number, each] : fates_) {
    if (may_be_lost(number, each)) found.numbers.insert(number);
  }
  return found;
}

}  // namespace kvc::sim
