#include "net/store_reconciler.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "net/log.hpp"

namespace kvc::net {
namespace {

using steady = std::chrono::steady_clock;

constexpr std::size_t most_touched = 8'192;               ///< keys of one backend that wait to be read again
constexpr std::size_t most_doubted = most_touched / 2;    ///< so many wait before events add no more
constexpr std::chrono::milliseconds between_looks{50};    ///< when nothing is due
constexpr std::chrono::milliseconds longest_away{5'000};  ///< between two tries of a store that does not answer
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

asio::awaitable<bool> wait_for(lane& home, promotion_target& target, steady::duration how_long) {
  asio::steady_timer timer(home.context, how_long);
  error_code woken;
  co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, woken));
  const auto stopping = co_await asio::this_coro::cancellation_state;
  co_return !woken && stopping.cancelled() == asio::cancellation_type::none && !target.is_stopping;
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
  apply(backend, tenant, fresh, told, always);
}

void store_reconciler::apply(std::uint32_t backend, const std::string& tenant, std::span<const std::string> keys,
                             std::span<const placement> found, std::uint32_t asked_at) {
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
  if (news.events.empty()) return;
  for (const auto& [where, inlet] : objects_.inlets(backend)) {
    asio::post(where->context, [inlet, news] {
      if (const auto alive = inlet.lock()) alive->take_aside(news);
    });
  }
}

void store_reconciler::touch(std::uint32_t backend, std::string_view tenant, std::vector<std::string> keys) {
  remember(backend, tenant, std::move(keys), most_touched);
}

void store_reconciler::doubt(std::uint32_t backend, std::string_view tenant, std::vector<std::string> keys) {
  remember(backend, tenant, std::move(keys), most_doubted);
}

void store_reconciler::remember(std::uint32_t backend, std::string_view tenant, std::vector<std::string> keys, std::size_t most) {
  asio::post(home_.context, [this, backend, most, tenant = std::string(tenant), keys = std::move(keys)]() mutable {
    waiting& mine = touched_[backend];
    for (std::string& each : keys) {
      if (mine.keys.size() >= most) {
        counters_.left_out.fetch_add(1, std::memory_order_relaxed);
        continue;
      }
      if (mine.known.insert(promotion_service::fingerprint(backend, tenant, each)).second) mine.keys.push_back({tenant, std::move(each)});
    }
  });
}

/// Keys of one tenant from the front.
store_reconciler::look store_reconciler::next_touched(std::uint32_t backend, std::size_t most) {
  look next;
  waiting& mine = touched_[backend];
  while (!mine.keys.empty() && next.keys.size() < most) {
    touched& first = mine.keys.front();
    if (!next.keys.empty() && first.tenant != next.tenant) break;
    mine.known.erase(promotion_service::fingerprint(backend, first.tenant, first.key));
    next.tenant = std::move(first.tenant);
    next.keys.push_back(std::move(first.key));
    mine.keys.pop_front();
  }
  return next;
}

store_reconciler::look store_reconciler::next_doubtful(std::uint32_t backend, std::size_t most) {
  look next;
  const std::uint32_t now = objects_.now();
  const std::uint32_t old_enough = age();
  objects_.read(backend, [&](const core::object_table& table) {
    const std::vector<std::uint32_t> owners = table.owners_of(objects_.name(backend));
    for (std::size_t tried = 0; tried < owners.size() && next.keys.empty(); ++tried) {
      const std::uint32_t owner = owners[sweep_from_[backend]++ % owners.size()];
      std::uint32_t object = table.most_doubtful(owner);
      for (; object != core::no_record && next.keys.size() < most; object = table.next_doubtful(object)) {
        const std::uint32_t known = table.known_at(object);
        if (known != 0 && known + old_enough > now) break;
        next.keys.emplace_back(table.key(object));
      }
      if (!next.keys.empty()) next.tenant = table.tenant_of(owner);
    }
  });
  return next;
}

asio::awaitable<bool> store_reconciler::look_at(promotion_target& target, const look& which) {
  const std::uint32_t asked_at = objects_.now();
  const auto found = co_await target.executor->locate(which.keys, which.tenant, settings_.store_call_timeout);
  if (!found) {
    if (found.error() == errc::cancelled) co_return false;
    counters_.failed.fetch_add(1, std::memory_order_relaxed);
    const bool was_reachable = !unreachable_[target.backend].exchange(true, std::memory_order_relaxed);
    if (was_reachable) {
      log::warn(log::module::stream, "store cannot be asked",
                {{"backend", objects_.name(target.backend)}, {"reason", found.error().message()}});
    }
    co_return false;
  }
  if (unreachable_[target.backend].exchange(false, std::memory_order_relaxed)) {
    log::info(log::module::stream, "store can be asked again", {{"backend", objects_.name(target.backend)}});
  }
  counters_.looked_at.fetch_add(which.keys.size(), std::memory_order_relaxed);
  if (!target.is_stopping) apply(target.backend, which.tenant, which.keys, *found, asked_at);
  co_return true;
}

asio::awaitable<void> store_reconciler::keep_true(std::shared_ptr<promotion_target> target) {
  co_await asio::this_coro::throw_if_cancelled(false);
  co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
  unreachable_[target->backend].store(false, std::memory_order_relaxed);
  if (settings_.reconcile_rate == 0) co_return;
  // A full call, or as many keys as half a second has.
  const std::size_t most = std::clamp<std::size_t>(settings_.reconcile_rate / 2, 1, most_keys_per_call);
  std::chrono::milliseconds away = between_looks;
  for (bool sweeps = false;; sweeps = !sweeps) {
    // In turn, so that touched keys, however many, cannot keep the others waiting.
    look next = sweeps ? next_doubtful(target->backend, most) : next_touched(target->backend, most);
    if (next.keys.empty()) next = sweeps ? next_touched(target->backend, most) : next_doubtful(target->backend, most);
    steady::duration rest = between_looks;
    if (!next.keys.empty()) {
      const bool is_answered = co_await look_at(*target, next);
      away = is_answered ? between_looks : std::min(away * 2, longest_away);
      rest = std::max<steady::duration>(away == between_looks ? steady::duration() : away,
                                        std::chrono::microseconds(next.keys.size() * 1'000'000 / settings_.reconcile_rate));
    }
    const bool goes_on = co_await wait_for(home_, *target, rest);
    if (!goes_on) break;
  }
  touched_.erase(target->backend);
  unreachable_[target->backend].store(false, std::memory_order_relaxed);  // without a store the events are all there is
}

}  // namespace kvc::net
