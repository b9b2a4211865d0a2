#include "perf/sim_store_storage.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace kvc::sim {
bool store_storage::object::has(store_medium medium, bool is_complete) const noexcept {
  return std::ranges::any_of(replicas, [&](const store_replica& each) { return each.medium == medium && each.is_complete == is_complete; });
}

bool store_storage::object::is_anywhere() const noexcept {
  return std::ranges::any_of(replicas, [](const store_replica& each) { return each.is_complete; });
}

store_storage::store_storage(const rules& with) : rules_(with), used_(with.segments) {}

std::uint64_t store_storage::used() const noexcept {
  return std::accumulate(used_.begin(), used_.end(), std::uint64_t{0});
}

const store_storage::object* store_storage::find(std::string_view key) const {
  const auto at = objects_.find(key);
  return at == objects_.end() ? nullptr : &at->second;
}

std::optional<std::string> store_storage::near(std::string_view where) const {
  if (objects_.empty()) return std::nullopt;
  auto at = objects_.lower_bound(where);
  if (at == objects_.end()) at = objects_.begin();
  return at->first;
}

void store_storage::note(store_change::kind what, const std::string& key, const std::vector<store_replica>& before, const object* after) {
  ++noted_;
  store_change& change = changes_.emplace_back();
  change.what = what;
  change.key = key;
  change.before = complete_ones(before);
  if (after != nullptr) {
    change.after = complete_ones(after->replicas);
    change.block = after->block;
  }
}

std::vector<store_change> store_storage::take_changes() {
  return std::exchange(changes_, {});
}

std::optional<std::uint32_t> store_storage::room(std::uint64_t bytes, std::optional<std::uint32_t> preferred) const {
  const std::uint64_t each = rules_.capacity / used_.size();
  if (preferred && *preferred < used_.size() && used_[*preferred] + bytes <= each) return preferred;
  const auto emptiest = std::ranges::min_element(used_);
  if (*emptiest + bytes > each) return std::nullopt;
  return static_cast<std::uint32_t>(emptiest - used_.begin());
}

void store_storage::add_memory(object& to, std::uint32_t segment, bool is_complete) {
  to.replicas.push_back({.medium = store_medium::memory, .is_complete = is_complete, .segment = segment});
  used_[segment] += to.bytes;
}

void store_storage::drop(object& from, std::size_t replica) {
  const store_replica gone = from.replicas[replica];
  from.replicas.erase(from.replicas.begin() + static_cast<std::ptrdiff_t>(replica));
  if (gone.medium == store_medium::memory) used_[gone.segment] -= from.bytes;
  if (!from.has(store_medium::memory, true)) forget_use(from);
}

void store_storage::touch(place at) {
  forget_use(at->second);
  at->second.last_use = ++uses_;
  if (at->second.has(store_medium::memory, true)) by_use_.emplace(uses_, at->first);
}

void store_storage::forget_use(const object& of) {
  by_use_.erase(of.last_use);
}

void store_storage::erase(place at) {
  std::erase_if(promotions_, [&](const promotion& each) { return each.key == at->first; });
  while (!at->second.replicas.empty()) drop(at->second, at->second.replicas.size() - 1);
  objects_.erase(at);
}

bool store_storage::put_start(std::string_view key, std::uint64_t bytes, bool with_disk, std::optional<std::uint32_t> preferred,
                              std::shared_ptr<const store_block> block, milliseconds now) {
  if (objects_.contains(key)) return false;
  auto segment = room(bytes, preferred);
  while (!segment && evict_coldest(now)) segment = room(bytes, preferred);
  if (!segment) {
    ++counts_.failed_puts;
    return false;
  }
  object& made = objects_[std::string(key)];
  made.bytes = bytes;
  made.block = std::move(block);
  add_memory(made, *segment, false);
  if (with_disk) made.replicas.push_back({.medium = store_medium::disk, .is_complete = false, .segment = 0});
  return true;
}

bool store_storage::put_end(std::string_view key, milliseconds now) {
  const auto at = objects_.find(key);
  if (at == objects_.end() || at->second.is_anywhere()) return false;
  for (store_replica& each : at->second.replicas) each.is_complete = true;
  ++counts_.puts;
  touch(at);
  note(store_change::kind::put, at->first, {}, &at->second);
  advance(now);
  return true;
}

bool store_storage::put_revoke(std::string_view key) {
  const auto at = objects_.find(key);
  if (at == objects_.end() || at->second.is_anywhere()) return false;
  erase(at);
  return true;
}

bool store_storage::put(std::string_view key, std::uint64_t bytes, milliseconds now, bool with_disk,
                        std::shared_ptr<const store_block> block, std::optional<std::uint32_t> preferred) {
  return put_start(key, bytes, with_disk, preferred, std::move(block), now) && put_end(key, now);
}

bool store_storage::put_again(std::string_view key, milliseconds now) {
  const auto at = objects_.find(key);
  if (at == objects_.end() || !at->second.is_anywhere() || at->second.has(store_medium::memory, true)) return false;
  std::erase_if(promotions_, [&](const promotion& each) { return each.key == key; });
  object& what = at->second;
  for (std::size_t i = what.replicas.size(); i-- > 0;) {
    if (!what.replicas[i].is_complete) drop(what, i);
  }
  auto segment = room(what.bytes, std::nullopt);
  while (!segment && evict_coldest(now)) segment = room(what.bytes, std::nullopt);
  if (!segment) return false;
  const auto before = what.replicas;
  add_memory(what, *segment, true);
  ++counts_.puts;
  touch(at);
  note(store_change::kind::put, at->first, before, &what);
  return true;
}

bool store_storage::get(std::string_view key, milliseconds now) {
  const auto at = objects_.find(key);
  if (at == objects_.end() || !at->second.is_anywhere()) return false;
  at->second.leased_until = now + rules_.lease;
  ++counts_.leases;
  touch(at);
  return true;
}

bool store_storage::evict_coldest(milliseconds now) {
  for (const auto& [use, key] : by_use_) {
    const auto at = objects_.find(key);
    if (at->second.leased_until <= now) return evict_at(at, now);
  }
  return false;
}

bool store_storage::evict(std::string_view key, milliseconds now) {
  const auto at = objects_.find(key);
  return at != objects_.end() && evict_at(at, now);
}

bool store_storage::evict_at(place at, milliseconds now) {
  object& what = at->second;
  if (what.leased_until > now || !what.has(store_medium::memory, true)) return false;
  if (rules_.offloads && !what.has(store_medium::local_disk, true)) {
    const auto before = what.replicas;
    const auto from = std::ranges::find(what.replicas, store_medium::memory, &store_replica::medium);
    what.replicas.push_back({.medium = store_medium::local_disk, .is_complete = true, .segment = from->segment});
    ++counts_.offloaded;
    note(store_change::kind::offloaded, at->first, before, &what);
  }
  const auto before = what.replicas;
  for (std::size_t i = what.replicas.size(); i-- > 0;) {
    if (what.replicas[i].medium == store_medium::memory && what.replicas[i].is_complete) {
      drop(what, i);
      ++counts_.evicted;
    }
  }
  what.hits = 0;
  note(store_change::kind::evicted, at->first, before, &what);
  if (what.replicas.empty()) erase(at);
  return true;
}

}  // namespace kvc::sim
