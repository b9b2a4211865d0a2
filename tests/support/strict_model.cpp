#include "tests/support/strict_model.hpp"

#include <algorithm>
#include <utility>

#include "core/block_hasher.hpp"

namespace kvc::test {

using namespace kvc::core;

model_place model_place::at_root(std::size_t partition, local_hash local) {
  return {.partition = partition, .told = std::nullopt, .locals = {local}, .hash = first_in_sequence(local)};
}

model_place model_place::named(std::size_t partition, seq_hash told) {
  return {.partition = partition, .told = told, .locals = {}, .hash = told};
}

model_place model_place::behind(local_hash local) const {
  model_place next = *this;
  next.locals.push_back(local);
  next.hash = roll(hash, local, test_seed);
  return next;
}

bool model_place::is_same_block(const model_place& other) const {
  if (partition != other.partition) return false;
  if (!told && !other.told) return locals == other.locals;
  return hash == other.hash;
}

void strict_model::add_worker(worker_id worker, const worker_traits& traits) {
  workers_[worker].traits = traits;
}

void strict_model::join(worker_id worker, std::size_t partition) {
  workers_.at(worker).partitions.insert(partition);
}

std::optional<model_place> strict_model::newest(const state& who, engine_hash name, std::optional<std::size_t> partition,
                                                std::optional<medium_id> first_on) {
  const copies* best = nullptr;
  const auto rank_of = [first_on](const copies& each) { return std::pair(each.medium == first_on, each.stored_at); };
  const auto found = who.names.find(name);
  if (found == who.names.end()) return std::nullopt;
  for (const copies& each : found->second) {
    if (partition && each.place.partition != *partition) continue;
    if (best == nullptr || rank_of(each) > rank_of(*best)) best = &each;
  }
  if (best == nullptr) return std::nullopt;
  return best->place;
}

/// Whether a name is the standard's for the block at this place.
static bool says_place(engine_hash name, const model_place& place) {
  return place.hash.get() == name.get();
}

void strict_model::put(state& who, engine_hash name, const model_place& place, medium_id medium, std::uint32_t count) {
  all_copies& all = who.names[name];
  const auto same = std::ranges::find_if(all, [&](const copies& each) { return each.medium == medium && each.place.is_same_block(place); });
  if (same != all.end()) {
    same->count = who.traits.copy_counting ? same->count + count : 1;
    same->stored_at = ++now_;
  } else {
    const bool stays_apart = says_place(name, place);
    std::erase_if(all, [&](const copies& each) { return each.medium == medium && !(stays_apart && says_place(name, each.place)); });
    all.push_back({.medium = medium, .place = place, .count = who.traits.copy_counting ? count : 1, .stored_at = ++now_});
  }
  // Rule 1: it no longer waits for another place on this medium.
  const auto lost = who.waiting.find(name);
  if (lost == who.waiting.end() || !lost->second.parent || lost->second.partition == place.partition || says_place(name, place)) return;
  lost->second.counts.erase(medium);
  if (lost->second.counts.empty()) who.waiting.erase(lost);
}

void strict_model::wait(state& who, engine_hash name, orphan found, medium_id medium) {
  if (const auto elsewhere = who.names.find(name); elsewhere != who.names.end()) {  // rule 1: it has left where it stood
    std::erase_if(elsewhere->second, [&](const copies& each) { return each.medium == medium && !says_place(name, each.place); });
    if (elsewhere->second.empty()) who.names.erase(elsewhere);
  }
  if (who.traits.max_orphans == 0) return;
  if (!who.waiting.contains(name)) {
    while (who.waiting.size() >= who.traits.max_orphans) {
      who.waiting.erase(std::ranges::min_element(who.waiting, {}, [](const auto& each) { return each.second.since; }));
    }
    who.waiting.emplace(name, found);
  }
  orphan& kept = who.waiting.at(name);
  kept.since = ++now_;  // told of again: as young as any
  if (found.parent) {   // the newest word about its place counts; a placeholder has none
    kept.partition = found.partition;
    kept.parent = found.parent;
    kept.local = found.local;
  }
  std::uint32_t& count = kept.counts[medium];
  count = who.traits.copy_counting ? count + 1 : 1;
}

void strict_model::join_what_can(state& who) {
  bool has_changed = true;
  while (has_changed) {
    has_changed = false;
    for (const auto& [name, lost] : who.waiting) {
      std::optional<model_place> place = newest(who, name, lost.parent ? std::optional(lost.partition) : std::nullopt);
      if (!place && lost.parent) {
        if (const auto parent = newest(who, *lost.parent, lost.partition)) place = parent->behind(lost.local);
      }
      if (!place) continue;
      const engine_hash joined = name;
      const auto counts = lost.counts;
      who.waiting.erase(joined);
      for (const auto& [medium, count] : counts) put(who, joined, *place, medium, count);
      has_changed = true;
      break;  // the map has changed under the loop
    }
  }
}

void strict_model::store(worker_id worker, const store_step& step) {
  state& who = workers_.at(worker);
  who.partitions.insert(step.partition);
  std::optional<model_place> previous;
  if (step.how == link::parent) previous = newest(who, step.parent, step.partition, step.medium);
  for (std::size_t i = 0; i < step.names.size(); ++i) {
    const engine_hash name = step.names[i];
    std::optional<model_place> here;
    orphan lost{.partition = step.partition, .parent = std::nullopt, .local = {}, .counts = {}, .since = 0};
    switch (step.how) {
      case link::standard: here = model_place::named(step.partition, seq_hash{name.get()}); break;
      case link::by_name: here = newest(who, name, std::nullopt); break;
      case link::root:
      case link::parent:
        if (step.how == link::root && i == 0) {
          here = model_place::at_root(step.partition, step.locals[0]);
        } else if (previous) {
          here = previous->behind(step.locals[i]);
        } else {
          here = newest(who, name, step.partition, step.medium);
          lost.parent = i == 0 ? step.parent : step.names[i - 1];
          lost.local = step.locals[i];
        }
    }
    if (here) {
      put(who, name, *here, step.medium, 1);
    } else {
      wait(who, name, lost, step.medium);
    }
    join_what_can(who);
    previous = here;
  }
}

void strict_model::remove(worker_id worker, engine_hash name, medium_id medium, const removal_step& from) {
  state& who = workers_.at(worker);
  if (const auto found = who.names.find(name); found != who.names.end()) {
    all_copies& all = found->second;
    auto meant = all.end();
    for (auto each = all.begin(); each != all.end(); ++each) {
      if (each->medium != medium) continue;
      if (each->place.partition == from.partition) {
        meant = each;
        break;
      }
      if (from.is_explicit && says_place(name, each->place)) continue;
      if (meant == all.end() || each->stored_at > meant->stored_at) meant = each;
    }
    if (meant != all.end()) {
      meant->count = who.traits.copy_counting ? meant->count - 1 : 0;
      if (meant->count == 0) all.erase(meant);
      if (all.empty()) who.names.erase(found);
      return;
    }
  }
  const auto lost = who.waiting.find(name);
  if (lost == who.waiting.end() || !lost->second.counts.contains(medium)) return;
  if (from.is_explicit && lost->second.parent && lost->second.partition != from.partition) return;
  std::uint32_t& count = lost->second.counts.at(medium);
  count = who.traits.copy_counting ? count - 1 : 0;
  if (count == 0) lost->second.counts.erase(medium);
  if (lost->second.counts.empty()) who.waiting.erase(lost);
}

void strict_model::clear(worker_id worker, media_mask which, std::optional<std::size_t> only) {
  state& who = workers_.at(worker);
  for (auto& [name, all] : who.names) {
    std::erase_if(all, [&](const copies& each) { return (mask_of(each.medium) & which) != 0 && (!only || each.place.partition == *only); });
  }
  std::erase_if(who.names, [](const auto& each) { return each.second.empty(); });
  for (auto& [name, lost] : who.waiting) {
    if (only && lost.partition != *only) continue;
    std::erase_if(lost.counts, [&](const auto& each) { return (mask_of(each.first) & which) != 0; });
  }
  std::erase_if(who.waiting, [](const auto& each) { return each.second.counts.empty(); });
}

media_mask strict_model::holds(const state& who, const model_place& block) {
  media_mask held = 0;
  for (const auto& [name, all] : who.names) {
    for (const copies& each : all) {
      if (each.place.is_same_block(block)) held |= mask_of(each.medium);
    }
  }
  return held;
}

bool strict_model::lends(std::size_t partition, worker_id lender, worker_id user, bool own_only) const {
  const state& from = workers_.at(lender);
  if (!from.partitions.contains(partition)) return false;
  if (!from.traits.is_pool) return lender == user;
  if (from.traits.is_shared) return !own_only;
  bool has_engine = false;
  bool is_user = false;
  for (const auto& [number, each] : workers_) {
    if (each.traits.is_pool || each.traits.instance != from.traits.instance || !each.partitions.contains(partition)) continue;
    has_engine = true;
    is_user = is_user || number == user;
  }
  return has_engine ? is_user : lender == user;
}

std::vector<media_mask> strict_model::usable(std::size_t partition, worker_id worker, std::span<const local_hash> query) const {
  std::vector<media_mask> answer;
  std::optional<model_place> block;
  for (const local_hash local : query) {
    block = block ? block->behind(local) : model_place::at_root(partition, local);
    media_mask held = 0;
    for (const auto& [number, each] : workers_) {
      if (lends(partition, number, worker, false)) held |= holds(each, *block);
    }
    answer.push_back(held);
  }
  return answer;
}

std::uint32_t strict_model::depth(std::span<const media_mask> usable, media_mask among) {
  std::uint32_t reached = 0;
  while (reached < usable.size() && (usable[reached] & among) != 0) ++reached;
  return reached;
}

std::uint32_t strict_model::depth(std::size_t partition, worker_id worker, media_mask among, std::span<const local_hash> query) const {
  return depth(usable(partition, worker, query), among);
}

bool strict_model::has_row(std::size_t partition, worker_id worker, media_mask among, std::span<const local_hash> query) const {
  const std::uint32_t reached = depth(partition, worker, among, query);
  std::optional<model_place> block;
  for (std::uint32_t i = 0; i < reached; ++i) {
    block = block ? block->behind(query[i]) : model_place::at_root(partition, query[i]);
    for (const auto& [number, each] : workers_) {
      if (lends(partition, number, worker, true) && (holds(each, *block) & among) != 0) return true;
    }
  }
  return false;
}

std::vector<worker_id> strict_model::members(std::size_t partition) const {
  std::vector<worker_id> answer;
  for (const auto& [number, each] : workers_) {
    if (each.partitions.contains(partition)) answer.push_back(number);
  }
  return answer;
}

std::uint64_t strict_model::held_on(worker_id worker, medium_id medium) const {
  std::uint64_t held = 0;
  for (const auto& [name, all] : workers_.at(worker).names)
    held += static_cast<std::uint64_t>(std::ranges::count(all, medium, &copies::medium));
  return held;
}

std::size_t strict_model::names(worker_id worker) const {
  return workers_.at(worker).names.size();
}

std::size_t strict_model::orphans(worker_id worker) const {
  return workers_.at(worker).waiting.size();
}

std::size_t strict_model::distinct_blocks(std::size_t partition) const {
  std::set<seq_hash> blocks;
  for (const auto& [number, who] : workers_) {
    for (const auto& [name, all] : who.names) {
      for (const copies& each : all) {
        if (each.place.partition == partition) blocks.insert(each.place.hash);
      }
    }
  }
  return blocks.size();
}

}  // namespace kvc::test
