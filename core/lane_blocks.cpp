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
  const auto index = static_cast<std::size_t>(std::ranges::find(homes_, home) - homes_.begin());
  if (index == homes_.size()) homes_.push_back(home);  // few: bounded by event_applier
  return static_cast<std::uint16_t>(index);
}

std::optional<lane_blocks::place> lane_blocks::known_place(engine_hash name, std::uint16_t home) const {
  const auto found = known_.find(name);
  if (found == known_.end()) return std::nullopt;
  const copies& all = found->second;
  const auto newest = std::find_if(all.rbegin(), all.rend(), [&](const copy& each) { return each.where.home == home; });
  if (newest == all.rend()) return std::nullopt;
  return newest->where;
}

std::optional<lane_blocks::place> lane_blocks::any_place(engine_hash name) const {
  const auto found = known_.find(name);
  if (found == known_.end()) return std::nullopt;
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
      // Its parent is unknown, but another event has told where this name stands. A placeholder may come without the dimensions of the
      // partition its block is in, so that it means its name's block wherever that is.
      here = has_locals ? known_place(name, home) : any_place(name);
    }
    if (here) {
      const bool is_news = put(name, *here, command.medium, 1, tally);
      if (is_news && !waiting_.empty()) join_waiting(name, *here, tally);
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

bool lane_blocks::put(engine_hash name, place where, medium_id medium, std::uint32_t count, apply_tally& tally) {
  stop_waiting_elsewhere(name, where.home, medium);
  copies& all = known_[name];
  const bool is_news = std::ranges::none_of(all, [&](const copy& each) { return each.where.home == where.home; });
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
  return is_news;
}

void lane_blocks::place_orphan(engine_hash name, place where, apply_tally& tally) {
  const auto media = waiting_.at(name).copies;
  forget_orphan(name);
  for (const auto& [medium, count] : media) (void)put(name, where, medium, count, tally);
  ++tally.joined;
}

void lane_blocks::join_waiting(engine_hash first, place at, apply_tally& tally) {
  // Everything that waits for a name which has just become known, and what waits behind that; a list instead of recursion, since a
  // chain of orphans may be as long as a prompt.
  std::vector<std::pair<engine_hash, place>> arrived{{first, at}};
  std::vector<engine_hash> ready;
  while (!arrived.empty()) {
    const auto [name, here] = arrived.back();
    arrived.pop_back();

    const auto self = waiting_.find(name);
    if (self != waiting_.end() && (!self->second.parent || self->second.home == here.home)) place_orphan(name, here, tally);

    ready.clear();
    const auto [begin, end] = children_.equal_range(name);
    for (auto child = begin; child != end; ++child) {
      if (waiting_.at(child->second).home == here.home) ready.push_back(child->second);
    }
    for (const engine_hash child : ready) {
      const place behind{roll(here.block, waiting_.at(child).local, homes_[here.home]->seed()), here.home};
      place_orphan(child, behind, tally);
      arrived.emplace_back(child, behind);
    }
  }
}

void lane_blocks::stop_waiting_elsewhere(engine_hash name, std::uint16_t home, medium_id medium) {
  if (waiting_.empty()) return;
  const auto lost = waiting_.find(name);
  if (lost == waiting_.end() || !lost->second.parent || lost->second.home == home) return;
  auto& media = lost->second.copies;
  const auto on_medium = std::ranges::find(media, medium, &std::pair<medium_id, std::uint32_t>::first);
  if (on_medium == media.end()) return;
  media.erase(on_medium);
  if (media.empty()) forget_orphan(name);
}

void lane_blocks::leave_known_place(engine_hash name, medium_id medium, apply_tally& tally) {
  const auto found = known_.find(name);
  if (found == known_.end()) return;
  copies& all = found->second;
  const auto on_medium = std::ranges::find(all, medium, &copy::medium);
  if (on_medium == all.end()) return;
  let_go(*on_medium);
  all.erase(on_medium);
  ++tally.removed;
  if (all.empty()) known_.erase(found);
}

void lane_blocks::keep_orphan(engine_hash name, orphan found, medium_id medium, apply_tally& tally) {
  leave_known_place(name, medium, tally);  // it stands in another partition: the newest store has moved it out of there
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
    existing->second.home = found.home;
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
  }
  if (const auto lost = waiting_.find(name); lost != waiting_.end()) {
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
