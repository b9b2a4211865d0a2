#include "tests/support/placed_model.hpp"

#include <algorithm>
#include <unordered_set>

#include "core/block_hasher.hpp"

namespace kvc::test {

using namespace kvc::core;

placed_model::place placed_model::behind_of(const place& parent, local_hash local) {
  return {.partition = parent.partition, .prefix = roll(seq_hash{parent.prefix}, local, test_seed).get()};
}

std::optional<placed_model::place> placed_model::newest(const state& who, name of, std::optional<std::size_t> partition,
                                                        std::optional<medium_id> first_on) {
  const auto rank_of = [first_on](const copies& each) { return std::pair(each.medium == first_on, each.stored_at); };
  const auto found = who.names.find(of);
  if (found == who.names.end()) return std::nullopt;
  const copies* best = nullptr;
  for (const copies& each : found->second) {
    if (partition && each.where.partition != *partition) continue;
    if (best == nullptr || rank_of(each) > rank_of(*best)) best = &each;
  }
  if (best == nullptr) return std::nullopt;
  return best->where;
}

void placed_model::count(state& who, const copies& each, bool comes) {
  const auto medium = static_cast<std::size_t>(each.medium);
  who.held[medium] += comes ? 1 : ~std::uint64_t{0};
  per_medium& standing = who.blocks[each.where];
  standing[medium] += comes ? 1 : ~std::uint32_t{0};
  if (!comes && std::ranges::all_of(standing, [](std::uint32_t names) { return names == 0; })) who.blocks.erase(each.where);
}

template <class Leaves>
void placed_model::forget(state& who, name of, Leaves leaves) {
  const auto found = who.names.find(of);
  if (found == who.names.end()) return;
  std::erase_if(found->second, [&](const copies& each) {
    if (!leaves(each)) return false;
    count(who, each, false);
    return true;
  });
  if (found->second.empty()) who.names.erase(found);
}

void placed_model::stir(state& who, name of) {
  if (who.waiting.contains(of)) who.stirred.insert(of);
  if (const auto found = who.behind.find(of); found != who.behind.end()) who.stirred.insert(found->second.begin(), found->second.end());
}

void placed_model::end_waiting(state& who, std::map<name, orphan>::iterator lost) {
  if (lost->second.parent) {
    const auto found = who.behind.find(*lost->second.parent);
    found->second.erase(lost->first);
    if (found->second.empty()) who.behind.erase(found);
  }
  who.waiting.erase(lost);
}

void placed_model::put(state& who, name of, const place& where, medium_id medium, std::uint32_t told) {
  if (!who.traits.copy_counting) told = 1;
  std::vector<copies>& all = who.names[of];
  const auto same = std::ranges::find_if(all, [&](const copies& each) { return each.medium == medium && each.where == where; });
  if (same != all.end()) {
    same->count = who.traits.copy_counting ? same->count + told : 1;
    same->stored_at = ++now_;
  } else {
    all.push_back({.medium = medium, .where = where, .count = told, .stored_at = ++now_});
    count(who, all.back(), true);
    const bool stays_apart = says_place(of, where);
    forget(who, of, [&](const copies& each) {
      return each.medium == medium && each.stored_at != now_ && !(stays_apart && says_place(of, each.where));
    });
  }
  stir(who, of);
  const auto lost = who.waiting.find(of);  // rule 1: it no longer waits for another place on this medium
  if (lost == who.waiting.end() || !lost->second.parent || lost->second.partition == where.partition || says_place(of, where)) return;
  lost->second.counts.erase(medium);
  if (lost->second.counts.empty()) end_waiting(who, lost);
}

void placed_model::wait(state& who, name of, const orphan& found, medium_id medium) {
  forget(who, of, [&](const copies& each) { return each.medium == medium && !says_place(of, each.where); });
  if (who.traits.max_orphans == 0) return;
  if (!who.waiting.contains(of)) {
    while (who.waiting.size() >= who.traits.max_orphans) {
      end_waiting(who, std::ranges::min_element(who.waiting, {}, [](const auto& each) { return each.second.since; }));
    }
    who.waiting.emplace(of, found);
    if (found.parent) who.behind[*found.parent].insert(of);
  }
  const auto kept = who.waiting.find(of);
  if (found.parent && kept->second.parent != found.parent) {  // the newest word about its place counts; a placeholder has none
    auto counts = std::move(kept->second.counts);
    end_waiting(who, kept);
    who.waiting.emplace(of, found).first->second.counts = std::move(counts);
    who.behind[*found.parent].insert(of);
  }
  orphan& lost = who.waiting.at(of);
  if (found.parent) {
    lost.partition = found.partition;
    lost.local = found.local;
  }
  lost.since = ++now_;
  std::uint32_t& told = lost.counts[medium];
  told = who.traits.copy_counting ? told + 1 : 1;
  stir(who, of);
}

void placed_model::join_what_can(state& who) {
  while (!who.stirred.empty()) {
    const name of = *who.stirred.begin();
    who.stirred.erase(who.stirred.begin());
    const auto lost = who.waiting.find(of);
    if (lost == who.waiting.end()) continue;
    const orphan& waits = lost->second;
    std::optional<place> where = newest(who, of, waits.parent ? std::optional(waits.partition) : std::nullopt);
    if (!where && waits.parent) {
      if (const auto parent = newest(who, *waits.parent, waits.partition)) where = behind_of(*parent, waits.local);
    }
    if (!where) continue;
    const auto counts = waits.counts;
    end_waiting(who, lost);
    for (const auto& [medium, told] : counts) put(who, of, *where, medium, told);
  }
}

void placed_model::store(worker_id worker, const store_step& step) {
  state& who = workers_.at(worker);
  who.partitions.insert(step.partition);
  std::optional<place> previous;
  if (step.how == link::parent) previous = newest(who, step.parent.get(), step.partition, step.medium);
  for (std::size_t i = 0; i < step.names.size(); ++i) {
    const name of = step.names[i].get();
    std::optional<place> here;
    orphan lost{.partition = step.partition, .parent = std::nullopt, .local = {}, .counts = {}, .since = 0};
    switch (step.how) {
      case link::standard: here = place{.partition = step.partition, .prefix = of}; break;
      case link::by_name: here = newest(who, of, std::nullopt); break;
      case link::root:
      case link::parent:
        if (step.how == link::root && i == 0) {
          here = place{.partition = step.partition, .prefix = first_in_sequence(step.locals[0]).get()};
        } else if (previous) {
          here = behind_of(*previous, step.locals[i]);
        } else {
          here = newest(who, of, step.partition, step.medium);
          lost.parent = i == 0 ? step.parent.get() : step.names[i - 1].get();
          lost.local = step.locals[i];
        }
    }
    if (here) {
      put(who, of, *here, step.medium, 1);
    } else {
      wait(who, of, lost, step.medium);
    }
    join_what_can(who);
    previous = here;
  }
}

void placed_model::remove(worker_id worker, engine_hash removed, medium_id medium, const removal_step& from) {
  state& who = workers_.at(worker);
  const name of = removed.get();
  const auto found = who.names.find(of);
  if (found != who.names.end()) {
    copies* meant = nullptr;
    for (copies& each : found->second) {
      if (each.medium != medium) continue;
      if (each.where.partition == from.partition) {
        meant = &each;
        break;
      }
      if (from.is_explicit && says_place(of, each.where)) continue;
      if (meant == nullptr || each.stored_at > meant->stored_at) meant = &each;
    }
    if (meant != nullptr) {
      meant->count = who.traits.copy_counting ? meant->count - 1 : 0;
      if (meant->count == 0) forget(who, of, [](const copies& each) { return each.count == 0; });
      return;
    }
  }
  const auto lost = who.waiting.find(of);
  if (lost == who.waiting.end() || !lost->second.counts.contains(medium)) return;
  if (from.is_explicit && lost->second.parent && lost->second.partition != from.partition) return;
  std::uint32_t& told = lost->second.counts.at(medium);
  told = who.traits.copy_counting ? told - 1 : 0;
  if (told == 0) lost->second.counts.erase(medium);
  if (lost->second.counts.empty()) end_waiting(who, lost);
}

void placed_model::clear(worker_id worker, media_mask which, std::optional<std::size_t> only) {
  state& who = workers_.at(worker);
  std::vector<name> all;
  for (const auto& [of, each] : who.names) all.push_back(of);
  for (const name of : all) {
    forget(who, of, [&](const copies& each) { return (mask_of(each.medium) & which) != 0 && (!only || each.where.partition == *only); });
  }
  for (auto each = who.waiting.begin(); each != who.waiting.end();) {
    const auto lost = each++;
    if (only && lost->second.partition != *only) continue;
    std::erase_if(lost->second.counts, [&](const auto& told) { return (mask_of(told.first) & which) != 0; });
    if (lost->second.counts.empty()) end_waiting(who, lost);
  }
}

std::vector<media_mask> placed_model::usable(std::size_t partition, worker_id worker, std::span<const local_hash> query) const {
  std::vector<media_mask> answer;
  const auto found = workers_.find(worker);
  if (found == workers_.end() || !found->second.partitions.contains(partition)) return answer;
  std::optional<place> block;
  for (const local_hash local : query) {
    block = block ? behind_of(*block, local) : place{.partition = partition, .prefix = first_in_sequence(local).get()};
    const auto standing = found->second.blocks.find(*block);
    if (standing == found->second.blocks.end()) break;
    media_mask held = 0;
    for (std::size_t i = 0; i < max_media; ++i) {
      if (standing->second[i] != 0) held = static_cast<media_mask>(held | mask_of(static_cast<medium_id>(i)));
    }
    answer.push_back(held);
  }
  return answer;
}

bool placed_model::has_row(std::size_t partition, worker_id worker, media_mask among, std::span<const local_hash> query) const {
  if (query.empty()) return false;
  const auto first = usable(partition, worker, query.first(1));
  return !first.empty() && (first[0] & among) != 0;
}

std::vector<worker_id> placed_model::members(std::size_t partition) const {
  std::vector<worker_id> answer;
  for (const auto& [number, each] : workers_) {
    if (each.partitions.contains(partition)) answer.push_back(number);
  }
  return answer;
}

std::size_t placed_model::distinct_blocks(std::size_t partition) const {
  std::unordered_set<std::uint64_t> blocks;
  for (const auto& [number, who] : workers_) {
    for (const auto& [where, standing] : who.blocks) {
      if (where.partition == partition) blocks.insert(where.prefix);
    }
  }
  return blocks.size();
}

bool placed_model::is_on(worker_id worker, engine_hash called, std::size_t partition, medium_id medium) const {
  const state& who = workers_.at(worker);
  const auto found = who.names.find(called.get());
  return found != who.names.end() &&
         std::ranges::any_of(found->second, [&](const copies& each) { return each.where.partition == partition && each.medium == medium; });
}

std::optional<seq_hash> placed_model::meaning(worker_id worker, engine_hash called, std::optional<std::size_t> partition) const {
  const auto found = newest(workers_.at(worker), called.get(), partition);
  if (!found) return std::nullopt;
  return seq_hash{found->prefix};
}

}  // namespace kvc::test
