#include "net/store_reconciler.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include "net/log.hpp"

namespace kvc::net {
namespace {

using steady = std::chrono::steady_clock;

constexpr std::size_t longest_logged_key = 128;
constexpr std::uint32_t always = std::numeric_limits<std::uint32_t>::max();

/// What is true of an object by an answer, and by what is known of it where the answer is about memory only.
placement whole(const placement& found, std::uint32_t object, const core::object_table& table) {
  placement truth = found;
  if (!found.tells_memory_only || object == core::no_record) return truth;
  table.each_replica(object, [&truth](const core::replica_view& each) {
    if (each.kind != core::replica_kind::memory) truth.replicas.push_back({each.kind, each.state, std::string(each.location)});
  });
  return truth;
}

std::vector<core::replica_view> views_of(const placement& found) {
  std::vector<core::replica_view> views;
  views.reserve(found.replicas.size());
  for (const located_replica& each : found.replicas) views.push_back({each.kind, each.state, each.location});
  return views;
}

}  // namespace

std::uint32_t store_reconciler::age() const noexcept {
  return object_shelves::ticks(settings_.reconcile_age);
}

void store_reconciler::take_truth(std::uint32_t backend, const std::string& tenant, std::span<const std::string> keys,
                                  std::span<const placement> found) {
  const steady::time_point moment = steady::now();
  const std::uint32_t now = objects_.now();
  std::vector<std::string> fresh;
  std::vector<placement> told;
  std::vector<std::string> again;
  objects_.read(backend, [&](const core::object_table& table) {
    const std::uint32_t owner = table.find_owner(objects_.name(backend), tenant);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const std::uint32_t object = owner == core::no_record ? core::no_record : table.find(owner, keys[i]);
      if (object == core::no_record) {
        // It was known when it was asked for: an event has taken it away since.
        if (!found[i].replicas.empty()) again.push_back(keys[i]);
        continue;
      }
      const std::uint32_t since = object_shelves::ticks(moment - found[i].asked);
      const std::uint32_t asked_at = now > since ? now - since : 0;
      const std::uint32_t known = table.heard_at(object);
      if (known + 1 >= asked_at) again.push_back(keys[i]);  // too close to tell which was first
      if (known > asked_at) continue;
      fresh.push_back(keys[i]);
      told.push_back(found[i]);
    }
  });
  counters_.overtaken.fetch_add(keys.size() - fresh.size(), std::memory_order_relaxed);
  if (!again.empty()) touch(backend, tenant, std::move(again));
  apply(backend, {.tenant = tenant, .keys = std::move(fresh), .were_known = {}, .is_touched = false}, told, always);
}

void store_reconciler::note_untold(const std::string& backend, const std::string& key, std::uint64_t keys) {
  // The first ones, then ever fewer.
  const std::uint64_t before = counters_.untold.fetch_add(keys, std::memory_order_relaxed);
  if (std::bit_width(before) == std::bit_width(before + keys)) return;
  log::warn(log::module::stream, "store does not tell where objects are",
            {{"backend", backend}, {"key", key.substr(0, longest_logged_key)}, {"keys_so_far", before + keys}});
}

void store_reconciler::apply(std::uint32_t backend, const look& which, std::span<const placement> found, std::uint32_t asked_at) {
  const std::string& tenant = which.tenant;
  const std::vector<std::string>& keys = which.keys;
  std::vector<std::string> again;
  std::uint64_t untold = 0;
  const std::string* example = nullptr;
  const std::string& name = objects_.name(backend);
  const std::uint32_t now = objects_.now();
  changed_objects news{name, tenant, {}};
  objects_.write(backend, [&](core::object_table& table) {
    // A tenant that somebody has asked for is no owner before it has something.
    const bool has_some = std::ranges::any_of(found, [](const placement& each) { return !each.replicas.empty(); });
    const std::uint32_t owner = has_some ? table.owner(name, tenant) : table.find_owner(name, tenant);
    if (owner == core::no_record) return;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const std::uint32_t object = table.find(owner, keys[i]);
      if (!found[i].is_known) {
        // The sweep must not ask for what cannot be told before it has asked for everything else.
        ++untold;
        example = &keys[i];
        if (object != core::no_record) table.put_off(object, now);
        continue;
      }
      if (object != core::no_record && table.heard_at(object) >= asked_at) {
        counters_.overtaken.fetch_add(1, std::memory_order_relaxed);
        continue;
      }
      const bool was_known = which.were_known.empty() || which.were_known[i];
      const bool may_have_gone = object == core::no_record && (was_known || table.may_have_gone_since(owner, keys[i], asked_at));
      if (may_have_gone && !found[i].replicas.empty()) {
        // An event has taken it away since it was asked for, or may have, and the answer may be of before that.
        counters_.overtaken.fetch_add(1, std::memory_order_relaxed);
        again.push_back(keys[i]);
        continue;
      }
      const core::replica_set known = object == core::no_record ? core::replica_set() : table.replicas(object);
      // What was doubted has left the index, or was never there.
      const bool is_news = object != core::no_record && table.is_doubted(object);
      const placement truth = whole(found[i], object, table);
      const core::reconciliation result = core::reconcile(known, truth.set());
      table.set(owner, keys[i], views_of(truth), now);
      for (std::size_t kind = 0; kind < core::difference_count; ++kind) {
        if (result.has(static_cast<core::difference>(kind))) counters_.differences[kind].fetch_add(1, std::memory_order_relaxed);
      }
      if (is_news || result.gained != 0 || result.lost != 0) news.keys.push_back(keys[i]);
    }
  });
  if (untold != 0) note_untold(name, *example, untold);
  if (!again.empty()) touch(backend, tenant, std::move(again));
  if (!news.keys.empty()) objects_.tell(backend, news);
}

}  // namespace kvc::net
