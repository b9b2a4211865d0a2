#include "core/lane_blocks.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/block_hasher.hpp"

namespace kvc::core {

void apply_tally::add(const apply_tally& other) noexcept {
  stored += other.stored;
  repeated += other.repeated;
  moved += other.moved;
  removed += other.removed;
  unknown_removals += other.unknown_removals;
  orphaned += other.orphaned;
  joined += other.joined;
  dropped_orphans += other.dropped_orphans;
  skipped += other.skipped;
}

lane_blocks::lane_blocks(options with) : options_(with), clearing_(known_.end()) {}

lane_blocks::~lane_blocks() = default;

std::uint16_t lane_blocks::home_index(const std::shared_ptr<partition>& home) {
  const auto found = std::ranges::find(homes_, home);
  const auto index = static_cast<std::uint16_t>(found - homes_.begin());
  if (found == homes_.end()) homes_.push_back(home);  // few: bounded by event_applier
  return index;
}

std::optional<lane_blocks::place> lane_blocks::known_place(engine_hash name, std::uint16_t home) const {
  const auto found = known_.find(name);
  if (found == known_.end() || found->second.back().where.home != home) return std::nullopt;
  return found->second.back().where;
}

void lane_blocks::let_go(const copy& which) {
  homes_[which.where.home]->index().release(which.where.block, options_.worker, which.medium);
  --held_[static_cast<std::size_t>(which.medium)];
}

void lane_blocks::store(const store_command& command, apply_tally& tally) {
  const std::uint16_t home = home_index(command.home);
  const std::uint64_t seed = command.home->seed();
  const bool has_locals = command.link == store_link::root || command.link == store_link::parent;
  // Where the block before the one in hand stands; absent while that is unknown.
  std::optional<place> previous;
  if (command.link == store_link::parent) previous = known_place(command.parent, home);

  for (std::size_t i = 0; i < command.names.size(); ++i) {
    const engine_hash name = command.names[i];
    std::optional<place> here;
    if (command.link == store_link::standard) {
      here = place{seq_hash{name.get()}, home};
    } else if (command.link == store_link::root && i == 0) {
      here = place{first_in_sequence(command.locals[0]), home};
    } else if (has_locals && previous) {
      here = place{roll(previous->block, command.locals[i], seed), home};
    } else {
      here = known_place(name, home);  // its parent is unknown, but another event has told where this name stands
    }
    if (here) {
      put(name, *here, command.medium, 1, tally);
      previous = here;
      continue;
    }
    orphan lost;
    lost.home = home;
    if (has_locals) {
      lost.parent = i == 0 ? command.parent : command.names[i - 1];
      lost.local = command.locals[i];
    }
    keep_orphan(name, std::move(lost), command.medium, tally);
    previous.reset();
  }
}

void lane_blocks::put(engine_hash name, place where, medium_id medium, std::uint32_t count, apply_tally& tally) {
  auto [entry, is_new] = known_.try_emplace(name);
  copies& all = entry->second;
  // An entry made empty by join_waiting is being joined already.
  const bool is_news = is_new || (!all.empty() && all.back().where.home != where.home);
  const auto same_medium = std::ranges::find(all, medium, &copy::medium);
  copy now{where, count, medium};
  if (same_medium != all.end()) {
    if (same_medium->where.block == where.block && same_medium->where.home == where.home) {
      const auto room = std::numeric_limits<std::uint32_t>::max() - same_medium->count;
      now.count = options_.copy_counting ? same_medium->count + std::min(count, room) : 1;
      ++tally.repeated;
    } else {
      let_go(*same_medium);
      homes_[where.home]->index().hold(where.block, options_.worker, medium);
      ++held_[static_cast<std::size_t>(medium)];
      ++tally.moved;
    }
    all.erase(same_medium);
  } else {
    homes_[where.home]->index().hold(where.block, options_.worker, medium);
    ++held_[static_cast<std::size_t>(medium)];
    ++tally.stored;
  }
  all.push_back(now);
  if (is_news && !waiting_.empty()) join_waiting(name, tally);
}

void lane_blocks::join_waiting(engine_hash first, apply_tally& tally) {
  // Everything that waits for a name which has just become known, and what waits behind that; a list instead of recursion, since a
  // chain of orphans may be as long as a prompt.
  std::vector<engine_hash> arrived{first};
  while (!arrived.empty()) {
    const engine_hash name = arrived.back();
    arrived.pop_back();
    const place here = known_.at(name).back().where;

    if (const auto self = waiting_.find(name); self != waiting_.end() && self->second.home == here.home) {
      const auto media = self->second.copies;
      forget_orphan(name);
      for (const auto& [medium, count] : media) put(name, here, medium, count, tally);
      ++tally.joined;
    }
    const auto [begin, end] = children_.equal_range(name);
    std::vector<engine_hash> ready;
    for (auto child = begin; child != end; ++child) ready.push_back(child->second);
    for (const engine_hash child_name : ready) {
      const auto found = waiting_.find(child_name);
      if (found == waiting_.end() || found->second.home != here.home) continue;
      const place child_place{roll(here.block, found->second.local, homes_[here.home]->seed()), here.home};
      const auto media = found->second.copies;
      forget_orphan(child_name);
      // `put` would join the child's own followers by calling back here; take the name in hand first so that it only places it.
      known_.try_emplace(child_name);
      for (const auto& [medium, count] : media) put(child_name, child_place, medium, count, tally);
      ++tally.joined;
      arrived.push_back(child_name);
    }
  }
}

void lane_blocks::keep_orphan(engine_hash name, orphan found, medium_id medium, apply_tally& tally) {
  if (options_.max_orphans == 0) {
    ++tally.dropped_orphans;
    return;
  }
  auto existing = waiting_.find(name);
  if (existing == waiting_.end()) {
    while (waiting_.size() >= options_.max_orphans) {
      forget_orphan(orphan_ages_.front());
      ++tally.dropped_orphans;
    }
    orphan_ages_.push_back(name);
    found.age = std::prev(orphan_ages_.end());
    if (found.parent) children_.emplace(*found.parent, name);
    existing = waiting_.emplace(name, std::move(found)).first;
    ++tally.orphaned;
  } else if (found.parent && existing->second.parent != found.parent) {
    unlink_from_parent(name, existing->second);  // the newest word about its place counts
    existing->second.parent = found.parent;
    existing->second.local = found.local;
    existing->second.home = found.home;
    children_.emplace(*found.parent, name);
  } else if (found.parent) {
    existing->second.local = found.local;
  }
  auto& media = existing->second.copies;
  const auto same = std::ranges::find(media, medium, &std::pair<medium_id, std::uint32_t>::first);
  if (same == media.end()) {
    media.emplace_back(medium, 1);
  } else if (options_.copy_counting) {
    ++same->second;
  }
}

void lane_blocks::unlink_from_parent(engine_hash child, const orphan& which) {
  if (!which.parent) return;
  const auto [begin, end] = children_.equal_range(*which.parent);
  for (auto each = begin; each != end; ++each) {
    if (each->second != child) continue;
    children_.erase(each);
    return;
  }
}

void lane_blocks::forget_orphan(engine_hash name) {
  const auto found = waiting_.find(name);
  unlink_from_parent(name, found->second);
  orphan_ages_.erase(found->second.age);
  waiting_.erase(found);
}

void lane_blocks::remove(engine_hash name, medium_id medium, apply_tally& tally) {
  if (const auto found = known_.find(name); found != known_.end()) {
    copies& all = found->second;
    const auto on_medium = std::ranges::find(all, medium, &copy::medium);
    if (on_medium != all.end()) {
      if (options_.copy_counting && --on_medium->count != 0) return;
      let_go(*on_medium);
      all.erase(on_medium);
      ++tally.removed;
      if (all.empty()) known_.erase(found);
      return;
    }
  } else if (const auto lost = waiting_.find(name); lost != waiting_.end()) {
    auto& media = lost->second.copies;
    const auto on_medium = std::ranges::find(media, medium, &std::pair<medium_id, std::uint32_t>::first);
    if (on_medium != media.end()) {
      if (options_.copy_counting && --on_medium->second != 0) return;
      media.erase(on_medium);
      if (media.empty()) forget_orphan(name);
      return;
    }
  }
  ++tally.unknown_removals;
}

bool lane_blocks::clear_some(media_mask which, const partition* only, std::size_t budget, apply_tally& tally) {
  if (!is_clearing_) {
    clearing_ = known_.begin();
    is_clearing_ = true;
  }
  for (; clearing_ != known_.end(); --budget) {
    if (budget == 0) return false;
    copies& all = clearing_->second;
    for (auto each = all.begin(); each != all.end();) {
      const bool goes = (mask_of(each->medium) & which) != 0 && (only == nullptr || homes_[each->where.home].get() == only);
      if (goes) {
        let_go(*each);
        ++tally.removed;
      }
      each = goes ? all.erase(each) : std::next(each);
    }
    clearing_ = all.empty() ? known_.erase(clearing_) : std::next(clearing_);
  }
  is_clearing_ = false;
  // Orphans are few (bounded by max_orphans), so they go in one pass.
  for (auto age = orphan_ages_.begin(); age != orphan_ages_.end();) {
    const engine_hash name = *age++;
    orphan& lost = waiting_.at(name);
    if (only != nullptr && homes_[lost.home].get() != only) continue;
    auto& media = lost.copies;
    const auto gone = std::ranges::remove_if(media, [&](const auto& each) { return (mask_of(each.first) & which) != 0; });
    media.erase(gone.begin(), gone.end());
    if (media.empty()) forget_orphan(name);
  }
  return true;
}

}  // namespace kvc::core
