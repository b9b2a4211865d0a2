// The orphans of lane_blocks: blocks whose place is not known yet.
#include <algorithm>
#include <utility>

#include "core/block_hasher.hpp"
#include "core/copy_count.hpp"
#include "core/lane_blocks.hpp"
#include "core/quiescence.hpp"
#include "core/run_visits.hpp"

namespace kvc::core {
namespace {

constexpr std::size_t kept_arrivals = 1'024;  ///< room on the list that is kept for the next time

}  // namespace

void lane_blocks::place_orphan(engine_hash name, const place& where, apply_tally& tally) {
  const auto media = waiting_.find(name)->copies;
  forget_orphan(name);
  for (const auto& [medium, count] : media) (void)put(name, where, medium, count, tally);
  explain(name, where);
  ++tally.joined;
  if (on_join_) on_join_(name);
}

std::vector<std::pair<medium_id, std::uint32_t>> lane_blocks::take_placeholders(engine_hash name) {
  const orphan* const lost = waiting_.find(name);
  if (lost == nullptr || lost->parent) return {};
  std::vector<std::pair<medium_id, std::uint32_t>> told(lost->copies.begin(), lost->copies.end());
  forget_orphan(name);
  return told;
}

bool lane_blocks::is_awaited(engine_hash name) const {
  const auto child = children_.lower_bound({name, engine_hash{0}});
  return child != children_.end() && child->first == name;
}

/// The run is pinned while the name is on the list.
void lane_blocks::arrive(engine_hash name, const place& here) {
  arrived_.push_back({name, here});  // first, since it may throw
  if (here.where.in != nullptr) here.where.in->pins.fetch_add(run::one_visit, std::memory_order_relaxed);
}

void lane_blocks::leave_arrived() {
  if (const place& here = arrived_.back().here; here.where.in != nullptr) runs_of(here.home).leave(here.where.in);
  arrived_.pop_back();
}

/// The next name that waits behind one that has arrived, in its partition. Looks at no more than `budget` and lowers it; absent: there is
/// none, or the budget is used up.
std::optional<engine_hash> lane_blocks::next_waiting(arrival& behind, std::size_t& budget) {
  while (budget != 0 && !behind.is_last) {
    --budget;
    const auto child = children_.lower_bound({behind.name, behind.next_child});
    if (child == children_.end() || child->first != behind.name) {
      behind.is_last = true;
      break;
    }
    const engine_hash name = child->second;
    behind.next_child = engine_hash{name.get() + 1};
    behind.is_last = behind.next_child == engine_hash{0};
    if (waiting_.find(name)->home == behind.here.home) return name;
  }
  return std::nullopt;
}

void lane_blocks::join_waiting(engine_hash first, const place& at, apply_tally& tally) {
  const orphan* const self = waiting_.find(first);
  if (self != nullptr && (!self->parent || self->home == at.home)) place_orphan(first, at, tally);
  if (is_awaited(first)) arrive(first, at);
}

void lane_blocks::forget_arrivals() {
  while (has_arrivals()) leave_arrived();
}

bool lane_blocks::join_some(std::size_t& budget, apply_tally& tally) {
  if (!has_arrivals()) return true;  // asked behind every store
  const quiescent_scope working;
  // A list instead of recursion, since a chain of orphans may be as long as a prompt.
  while (has_arrivals()) {
    arrival& behind = arrived_.back();
    const auto child = next_waiting(behind, budget);
    if (!child) {
      if (!behind.is_last) return false;
      leave_arrived();
      continue;
    }
    const place here = behind.here;
    const local_hash local = waiting_.find(*child)->local;
    run_store& runs = runs_of(here.home);
    if (here.where.in == nullptr) {
      const place next{{}, roll(here.block, local, runs.seed()), here.home};
      place_orphan(*child, next, tally);
      arrive(*child, next);
      continue;
    }
    const run_stretch found = runs.follow(here.where, {&local, 1});
    visit_end until_held(runs, found.in);
    if (found.in == nullptr) {  // see run_store::follow: it cannot be told apart from another block
      forget_orphan(*child);
      ++tally.skipped;
      continue;
    }
    const place next{{found.in, found.start}, {}, here.home};
    place_orphan(*child, next, tally);
    arrive(*child, next);
    until_held.end();
  }
  if (arrived_.capacity() > kept_arrivals) arrived_ = {};
  return true;
}

void lane_blocks::stop_waiting_elsewhere(engine_hash name, const place& where, medium_id medium) {
  if (waiting_.empty()) return;
  orphan* const lost = waiting_.find(name);
  if (lost == nullptr || !lost->parent || lost->home == where.home) return;
  if (says_place(name, where)) return;  // equal blocks of several partitions have it
  auto& media = lost->copies;
  const auto on_medium = std::ranges::find(media, medium, &std::pair<medium_id, std::uint32_t>::first);
  if (on_medium == media.end()) return;
  media.erase(on_medium);
  if (media.empty()) forget_orphan(name);
}

void lane_blocks::leave_known_place(engine_hash name, medium_id medium, bool but_own_hash, apply_tally& tally) {
  if (copies* const odd = odd_.find(name); odd != nullptr) {
    copies& all = *odd;
    for (auto each = all.begin(); each != all.end();) {
      if (each->medium != medium || (but_own_hash && says_place(name, each->where))) {
        ++each;
        continue;
      }
      let_go(*each);
      each = all.erase(each);
      ++tally.removed;
    }
    if (!all.empty()) return;
    odd_.erase(name);
    --known_;
  } else if (const auto hit = holdings_.find_plain_on(space_, name, medium); hit.which != lane_holdings::none) {
    const holding& in = holdings_.at(hit.which);
    if (but_own_hash && says_place(name, {{in.in, hit.offset}, {}, in.home})) return;
    let_go_plain(hit.which, hit.offset);
    ++tally.removed;
  }
}

void lane_blocks::keep_orphan(engine_hash name, orphan found, medium_id medium, apply_tally& tally) {
  // It stands in another partition: the newest store has moved it out of there, unless it is of equal blocks there and here.
  leave_known_place(name, medium, true, tally);
  if (ages_->most() == 0) {
    ++tally.dropped_orphans;
    return;
  }
  orphan* existing = waiting_.find(name);
  if (existing == nullptr) {
    while (ages_->is_full()) {
      const orphan_line::entry oldest = ages_->all().front();
      oldest.of->forget_orphan(oldest.name);
      ++tally.dropped_orphans;
    }
    existing = &waiting_[name];
    try {
      if (found.parent) children_.emplace(*found.parent, name);
      found.age = ages_->add(*this, name);
    } catch (...) {  // whoever is in the line has to be here
      if (found.parent) children_.erase({*found.parent, name});
      waiting_.erase(name);
      throw;
    }
    *existing = std::move(found);
    ++tally.orphaned;
  } else {
    orphan& known = *existing;
    ages_->renew(known.age);
    if (found.parent) {  // the newest word about its place counts
      if (known.parent != found.parent) {
        unlink_from_parent(name, known);
        known.parent = found.parent;
        children_.emplace(*found.parent, name);
      }
      known.local = found.local;
      known.home = found.home;
    }
  }
  auto& media = existing->copies;
  const auto same = std::ranges::find(media, medium, &std::pair<medium_id, std::uint32_t>::first);
  if (same == media.end()) {
    media.emplace_back(medium, 1);
  } else if (options_.copy_counting) {
    same->second = sum_of_copies(same->second, 1);
  }
}

void lane_blocks::unlink_from_parent(engine_hash child, const orphan& which) {
  if (!which.parent) return;
  children_.erase({*which.parent, child});
}

void lane_blocks::forget_orphan(engine_hash name) {
  const orphan& found = *waiting_.find(name);
  unlink_from_parent(name, found);
  ages_->remove(found.age);
  waiting_.erase(name);
}

}  // namespace kvc::core
