#include "net/promotion_service.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <iterator>
#include <numeric>
#include <span>
#include <utility>

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "core/text_spread.hpp"
#include "net/log.hpp"

namespace kvc::net {
namespace {

constexpr std::size_t longest_logged_key = 128;

core::promotion_gate::rules rules_of(const store_settings& settings) {
  core::promotion_gate::rules rules;
  rules.dedup = settings.prefetch_dedup;
  rules.cooldown = settings.prefetch_cooldown;
  rules.in_flight = settings.prefetch_in_flight;
  return rules;
}

/// Whoever is asked to leave when it suits, leaves at once. A group of coroutines hands on the first such wish only, and its members hear no
/// other kind than this.
asio::cancellation_type at_once(asio::cancellation_type wish) noexcept {
  return wish == asio::cancellation_type::none ? wish : asio::cancellation_type::terminal;
}

asio::awaitable<void> until_stopped(std::shared_ptr<promotion_target> target) {
  co_await asio::this_coro::throw_if_cancelled(false);
  error_code woken;
  while (!target->is_stopping) {
    co_await target->stopped.async_wait(asio::redirect_error(asio::use_awaitable, woken));
    const auto stopping = co_await asio::this_coro::cancellation_state;
    if (stopping.cancelled() != asio::cancellation_type::none) co_return;
  }
}

}  // namespace

promotion_service::promotion_service(lane& home, object_shelves& objects, const store_settings& settings, truth_sink& truth)
    : home_(home), objects_(objects), settings_(settings), truth_(truth), gate_(rules_of(settings)) {}

promotion_service::~promotion_service() = default;

std::uint64_t promotion_service::fingerprint(std::uint32_t backend, std::string_view tenant, std::string_view key) {
  return core::spread(std::array<std::uint64_t, 3>{core::spread(key), core::spread(tenant), backend});
}

std::size_t promotion_service::in_flight() const {
  const std::lock_guard holding(lock_);
  return gate_.in_flight();
}

void promotion_service::ask(const wish& what, std::span<const std::string_view> keys, std::span<prefetch_word> words,
                            const std::shared_ptr<promotion_wait>& wait) {
  if (!has_target(what.backend)) {
    std::ranges::fill(words, prefetch_word::failed);
    count(no_store, keys.size());
    return;
  }
  const steady::time_point now = steady::now();
  // Of a store that does not answer a few are enough to find out when it does.
  std::size_t room = room_[what.backend].load(std::memory_order_relaxed);
  if (!truth_.is_reachable(what.backend)) room = std::min(room, most_keys_per_call);
  std::vector<promotion_order> orders;
  {
    const std::lock_guard holding(lock_);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const std::uint64_t object = fingerprint(what.backend, what.tenant, keys[i]);
      const core::promotion_verdict verdict = gate_.ask(object, what.backend, now, room);
      const bool is_coming = verdict == core::promotion_verdict::started || verdict == core::promotion_verdict::joined;
      if (is_coming && wait) {
        waiting_[object].push_back(wait);
        wait->objects.push_back(object);
        const std::lock_guard counting(wait->lock);
        ++wait->left;
      }
      switch (verdict) {
        case core::promotion_verdict::started:
          words[i] = prefetch_word::started;
          count(started);
          if (orders.empty() || orders.back().keys.size() == most_keys_per_call) {
            promotion_order& order = orders.emplace_back();
            order.tenant = what.tenant;
            order.preferred = what.preferred;
            order.deadline = now + settings_.prefetch_deadline;
            order.model = what.model;
            order.salt = what.salt;
            order.tokens.assign(what.tokens.begin(), what.tokens.end());
          }
          orders.back().keys.emplace_back(keys[i]);
          orders.back().asked.push_back(now);
          break;
        case core::promotion_verdict::joined:
          words[i] = prefetch_word::joined;
          count(joined);
          break;
        default:
          words[i] = prefetch_word::suppressed;
          count(suppressed);
          counters_.suppressed[static_cast<std::size_t>(verdict) - static_cast<std::size_t>(core::promotion_verdict::suppressed_recent)]
              .fetch_add(1, std::memory_order_relaxed);
      }
    }
  }
  for (promotion_order& order : orders) {
    asio::post(home_.context, [this, backend = what.backend, order = std::move(order)]() mutable { enqueue(std::move(order), backend); });
  }
}

void promotion_service::leave(const std::shared_ptr<promotion_wait>& wait) {
  const std::lock_guard holding(lock_);
  for (const std::uint64_t object : wait->objects) {
    const auto found = waiting_.find(object);
    if (found == waiting_.end()) continue;
    std::erase(found->second, wait);
    if (found->second.empty()) waiting_.erase(found);
  }
  wait->objects.clear();
}

void promotion_service::forget(std::uint32_t backend) {
  const std::lock_guard holding(lock_);
  gate_.forget_backend(backend);
}

void promotion_service::forget_ends(std::uint32_t backend) {
  const std::lock_guard holding(lock_);
  gate_.forget_ends(backend);
}

void promotion_service::add_target(std::uint32_t backend, std::unique_ptr<store_executor> executor) {
  remove_target(backend);
  forget(backend);
  {
    const std::lock_guard holding(lock_);
    gate_.set_sharing(backend, true);
  }
  room_[backend].store(core::promotion_gate::no_bound, std::memory_order_relaxed);
  objects_.set_asked(backend, executor->can_be_asked() && settings_.reconcile_rate != 0);
  targets_[backend] = std::make_shared<promotion_target>(home_, backend, std::move(executor));
  has_target_[backend].store(true, std::memory_order_release);
}

void promotion_service::remove_target(std::uint32_t backend) {
  const auto found = targets_.find(backend);
  if (found == targets_.end()) return;
  has_target_[backend].store(false, std::memory_order_release);
  objects_.set_asked(backend, false);
  const std::shared_ptr<promotion_target> old = std::move(found->second);
  targets_.erase(found);
  old->is_stopping = true;
  old->stopped.cancel();
  for (const promotion_order& each : old->queue) give_up(backend, each);
  old->queue.clear();
  forget(backend);
  const std::lock_guard holding(lock_);
  gate_.set_sharing(backend, false);
}

std::shared_ptr<promotion_target> promotion_service::target(std::uint32_t backend) const {
  const auto found = targets_.find(backend);
  return found == targets_.end() ? nullptr : found->second;
}

void promotion_service::enqueue(promotion_order order, std::uint32_t backend) {
  const std::shared_ptr<promotion_target> to = target(backend);
  if (!to) return give_up(backend, order);
  to->queue.push_back(std::move(order));
  if (to->runners >= settings_.prefetch_concurrency) return;
  ++to->runners;
  home_.tasks.spawn("promotions", run(to));
}

/// The first order, and those behind it that can be one call with it. What has passed its deadline is not joined: nobody wants it.
promotion_order promotion_service::take_next(promotion_target& target) {
  promotion_order order = std::move(target.queue.front());
  target.queue.pop_front();
  const std::size_t most = std::min(target.executor->keys_per_call(), most_keys_per_call);
  const steady::time_point now = steady::now();
  if (order.deadline <= now || !order.tokens.empty()) return order;
  for (auto each = target.queue.begin(); each != target.queue.end() && order.keys.size() < most;) {
    const bool belongs = each->tenant == order.tenant && each->preferred == order.preferred && each->tokens.empty() &&
                         each->deadline > now && order.keys.size() + each->keys.size() <= most;
    if (!belongs) {
      ++each;
      continue;
    }
    std::ranges::move(each->keys, std::back_inserter(order.keys));
    order.asked.insert(order.asked.end(), each->asked.begin(), each->asked.end());
    order.deadline = std::max(order.deadline, each->deadline);
    each = target.queue.erase(each);
  }
  return order;
}

/// What can be served by its deadline: what is being carried out, and as many rounds of it as fit.
void promotion_service::note_length(promotion_target& target, steady::duration took) {
  constexpr std::int64_t most_rounds = 1'000'000;
  target.typical = target.typical == steady::duration() ? took : (3 * target.typical + took) / 4;
  const std::int64_t rounds = target.typical.count() > 0 ? steady::duration(settings_.prefetch_deadline) / target.typical : most_rounds;
  const std::size_t per_round = settings_.prefetch_concurrency * std::min(target.executor->keys_per_call(), most_keys_per_call);
  const std::size_t room = per_round * static_cast<std::size_t>(1 + std::clamp<std::int64_t>(rounds, 1, most_rounds));
  if (!target.is_stopping) room_[target.backend].store(room, std::memory_order_relaxed);
}

asio::awaitable<void> promotion_service::run(std::shared_ptr<promotion_target> target) {
  co_await asio::this_coro::throw_if_cancelled(false);
  co_await asio::this_coro::reset_cancellation_state(at_once);
  while (!target->queue.empty()) {
    promotion_order order = take_next(*target);
    co_await carry_out(target, std::move(order));
  }
  --target->runners;
}

asio::awaitable<void> promotion_service::carry_out(std::shared_ptr<promotion_target> target, promotion_order order) {
  using namespace asio::experimental::awaitable_operators;
  std::vector<promotion_outcome> outcomes(order.keys.size());
  for (promotion_outcome& each : outcomes) {
    each.what = promotion_result::given_up;
    each.reason = "given up";
  }
  std::vector<std::size_t> open(order.keys.size());
  std::iota(open.begin(), open.end(), std::size_t{0});
  const promotion_progress progress = [&](std::span<const std::size_t> places, std::span<const promotion_outcome> so_far) {
    settle(target->backend, order, places, so_far);
    std::erase_if(open, [&](std::size_t each) { return std::ranges::find(places, each) != places.end(); });
  };
  const steady::time_point began = steady::now();
  const auto stopping = co_await asio::this_coro::cancellation_state;
  const bool is_wanted = stopping.cancelled() == asio::cancellation_type::none && began < order.deadline;
  if (is_wanted) {
    try {
      auto first = co_await (target->executor->promote(order, progress) || until_stopped(target));
      if (first.index() == 0) outcomes = std::get<0>(std::move(first));
    } catch (const std::exception& thrown) {
      for (promotion_outcome& each : outcomes) {
        each.what = promotion_result::failed;
        each.reason = thrown.what();
      }
    }
    note_length(*target, steady::now() - began);
  }
  outcomes.resize(order.keys.size());
  settle(target->backend, order, open, outcomes);
}

void promotion_service::give_up(std::uint32_t backend, const promotion_order& order) {
  std::vector<std::size_t> all(order.keys.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  promotion_outcome end;
  end.what = promotion_result::given_up;
  end.reason = "given up";
  settle(backend, order, all, std::vector<promotion_outcome>(order.keys.size(), end));
}

std::vector<bool> promotion_service::by_table(std::uint32_t backend, const promotion_order& order,
                                              std::span<const std::size_t> places) const {
  std::vector<bool> is_there(places.size());
  objects_.read(backend, [&](const core::object_table& table) {
    const std::uint32_t owner = table.find_owner(objects_.name(backend), order.tenant);
    for (std::size_t i = 0; i < places.size() && owner != core::no_record; ++i) {
      const std::uint32_t object = table.find(owner, order.keys[places[i]]);
      if (object == core::no_record) continue;
      is_there[i] = table.replicas(object).has(core::replica_kind::memory, core::replica_state::complete);
    }
  });
  return is_there;
}

void promotion_service::settle(std::uint32_t backend, const promotion_order& order, std::span<const std::size_t> places,
                               std::span<const promotion_outcome> outcomes) {
  const steady::time_point now = steady::now();
  std::vector<std::string> keys;
  std::vector<placement> seen;
  for (const std::size_t i : places) {
    const promotion_outcome& each = outcomes[i];
    if (each.seen.is_known) {
      keys.push_back(order.keys[i]);
      seen.push_back(each.seen);
    }
  }
  // The table first: whoever is told of the end looks there.
  if (!keys.empty()) truth_.take_truth(backend, order.tenant, keys, seen);
  const std::vector<bool> is_there = by_table(backend, order, places);
  for (std::size_t at = 0; at < places.size(); ++at) {
    const std::size_t i = places[at];
    const promotion_outcome& each = outcomes[i];
    core::promotion_end end = core::promotion_end::failed;
    outcome what = failed;
    // It was not in memory when it was wished for: events have told of it since.
    const bool has_come = is_there[at] && each.what != promotion_result::accepted;
    switch (has_come ? promotion_result::already : each.what) {
      case promotion_result::accepted:
      case promotion_result::already:
        end = core::promotion_end::done;
        what = has_come || each.what == promotion_result::already ? already : accepted;
        counters_.bytes.fetch_add(each.what == promotion_result::accepted ? each.seen.bytes : 0, std::memory_order_relaxed);
        counters_.latency.observe_ns(static_cast<std::uint64_t>(std::chrono::nanoseconds(now - order.asked[i]).count()));
        break;
      case promotion_result::rejected_pressure:
        end = core::promotion_end::pressure;
        what = rejected_pressure;
        break;
      case promotion_result::unsupported:
        what = unsupported;
        break;
      case promotion_result::gone:
        what = gone;
        break;
      case promotion_result::given_up:
        end = core::promotion_end::given_up;
        break;
      case promotion_result::failed:
        break;
    }
    if (end != core::promotion_end::done) note_failure(backend, order, i, each);
    finish(fingerprint(backend, order.tenant, order.keys[i]), end, what);
  }
}

void promotion_service::finish(std::uint64_t object, core::promotion_end how, outcome what) {
  std::vector<std::shared_ptr<promotion_wait>> told;
  {
    const std::lock_guard holding(lock_);
    gate_.finished(object, how, steady::now());
    const auto found = waiting_.find(object);
    if (found != waiting_.end()) {
      told = std::move(found->second);
      waiting_.erase(found);
    }
  }
  count(what);  // behind the gate, so that who has read of the end finds it there, and before those who are told of it look
  for (const std::shared_ptr<promotion_wait>& each : told) {
    std::size_t left = 0;
    {
      const std::lock_guard counting(each->lock);
      left = --each->left;
      if (how != core::promotion_end::done) each->failed.push_back(object);
    }
    if (left != 0) continue;
    asio::post(each->home.context, [each] { each->alarm.cancel(); });
  }
}

void promotion_service::note_failure(std::uint32_t backend, const promotion_order& order, std::size_t key, const promotion_outcome& why) {
  // The first ones, then ever fewer: a store that is down must not flood the log, and another one must not silence it.
  const std::uint64_t so_far = ++failures_[backend];
  if (!std::has_single_bit(so_far)) return;
  log::warn(log::module::stream, "object not promoted",
            {{"backend", objects_.name(backend)},
             {"tenant", order.tenant},
             {"key", order.keys[key].substr(0, longest_logged_key)},
             {"reason", why.reason},
             {"so_far", so_far}});
}

}  // namespace kvc::net
