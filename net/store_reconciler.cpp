#include "net/store_reconciler.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include <boost/asio/post.hpp>

namespace kvc::net {
namespace {

using steady = std::chrono::steady_clock;

constexpr std::uint32_t always = std::numeric_limits<std::uint32_t>::max();

std::vector<core::replica_view> views_of(const placement& found) {
  std::vector<core::replica_view> views;
  views.reserve(found.replicas.size());
  for (const located_replica& each : found.replicas) views.push_back({each.kind, each.state, each.location});
  return views;
}

core::event_scope scope_of(const std::string& backend, const std::string& tenant, const std::string& key) {
  core::event_scope scope;
  scope.backend = backend;
  scope.tenant = tenant;
  scope.object_key = key;
  return scope;
}

/// What a difference means for the index: copies of the block that came and went, or where the object is, when its block is not known.
void append_events(const core::event_scope& scope, const placement& truth, const core::reconciliation& found,
                   std::optional<std::uint64_t> block, std::vector<core::event>& into) {
  if (found.gained == 0 && found.lost == 0) return;
  if (!block) {
    core::object_event event;
    event.scope = scope;
    event.what = core::object_event::change::updated;
    for (const located_replica& each : truth.replicas) {
      if (each.state != core::replica_state::complete) continue;
      const core::medium_id medium = each.kind == core::replica_kind::memory ? core::medium_id::cpu : core::medium_id::disk;
      event.replicas.push_back({medium, each.location, each.kind});
    }
    into.emplace_back(std::move(event));
    return;
  }
  // What came before what went: a block that nothing holds for a moment would be forgotten with its name.
  const auto append = [&](auto event, core::media_mask media) {
    for (const core::medium_id medium : {core::medium_id::cpu, core::medium_id::disk}) {
      if ((media & core::mask_of(medium)) == 0) continue;
      event.scope = scope;
      event.scope.medium = medium;
      event.hashes = {core::engine_hash{*block}};
      into.emplace_back(event);
    }
  };
  append(core::stored_event(), found.gained);
  append(core::removed_event(), found.lost);
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
      const std::uint32_t known = table.known_at(object);
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

void store_reconciler::apply(std::uint32_t backend, const look& which, std::span<const placement> found, std::uint32_t asked_at) {
  const std::string& tenant = which.tenant;
  const std::vector<std::string>& keys = which.keys;
  std::vector<std::string> again;
  const std::string& name = objects_.name(backend);
  const std::uint32_t now = objects_.now();
  core::event_batch news;
  objects_.write(backend, [&](core::object_table& table) {
    // A tenant that somebody has asked for is no owner before it has something.
    const bool has_some = std::ranges::any_of(found, [](const placement& each) { return !each.replicas.empty(); });
    const std::uint32_t owner = has_some ? table.owner(name, tenant) : table.find_owner(name, tenant);
    if (owner == core::no_record) return;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const std::uint32_t object = table.find(owner, keys[i]);
      if (!found[i].is_known) {
        // The sweep must not ask for what cannot be told before it has asked for everything else.
        if (object != core::no_record) table.confirm(object, now);
        continue;
      }
      if (object != core::no_record && table.known_at(object) >= asked_at) {
        counters_.overtaken.fetch_add(1, std::memory_order_relaxed);
        continue;
      }
      const bool was_known = which.were_known.empty() || which.were_known[i];
      if (object == core::no_record && was_known && !found[i].replicas.empty()) {
        // An event has taken it away since it was asked for, and the answer may be of before that.
        counters_.overtaken.fetch_add(1, std::memory_order_relaxed);
        again.push_back(keys[i]);
        continue;
      }
      const core::replica_set known = object == core::no_record ? core::replica_set() : table.replicas(object);
      const core::reconciliation result = core::reconcile(known, found[i].set());
      const std::optional<std::uint64_t> block = object == core::no_record ? std::nullopt : table.block_of(object);
      table.set(owner, keys[i], views_of(found[i]), now);
      for (std::size_t kind = 0; kind < core::difference_count; ++kind) {
        if (result.has(static_cast<core::difference>(kind))) counters_.differences[kind].fetch_add(1, std::memory_order_relaxed);
      }
      append_events(scope_of(name, tenant, keys[i]), found[i], result, block, news.events);
    }
  });
  if (!again.empty()) touch(backend, tenant, std::move(again));
  if (news.events.empty()) return;
  for (const auto& [where, inlet] : objects_.inlets(backend)) {
    asio::post(where->context, [inlet, news] {
      if (const auto alive = inlet.lock()) alive->take_aside(news);
    });
  }
}

}  // namespace kvc::net
