#include "net/promotion_service.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <exception>
#include <iterator>
#include <numeric>
#include <span>
#include <utility>
#include <variant>

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "core/text_spread.hpp"
#include "net/log.hpp"
#include "net/thrown_reason.hpp"

namespace kvc::net {
namespace {

core::promotion_gate::rules rules_of(const store_settings& settings) {
  core::promotion_gate::rules rules;
  rules.dedup = settings.prefetch_dedup;
  rules.cooldown = settings.prefetch_cooldown;
  rules.in_flight = settings.prefetch_in_flight;
  return rules;
}

/// Whoever is asked to leave when it suits, leaves at once. A group of coroutines hands on the first such wish only, and its members hear
/// no other kind than this.
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

/// What a mover answers, or throws: of a group of coroutines that waits for the first good end, one that throws is none.
struct moved {
  std::vector<promotion_outcome> outcomes;
  std::exception_ptr thrown;
};

asio::awaitable<moved> promote_by(store_executor& by, const promotion_order& order, const promotion_progress& progress) {
  moved made;
  try {
    made.outcomes = co_await by.promote(order, progress);
  } catch (...) {
    made.thrown = std::current_exception();
  }
  co_return made;
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
  std::vector<std::shared_ptr<work>> orders;
  std::optional<std::uint64_t> lone;
  std::size_t sent = 0;
  try {
    begin(what, keys, words, wait, orders, lone);
    for (; sent < orders.size(); ++sent) {
      asio::post(home_.context, [this, backend = what.backend, order = orders[sent]] { enqueue(*order, backend); });
    }
  } catch (...) {
    // Nobody else knows of them, and whoever joined them would wait for ever.
    for (; sent < orders.size(); ++sent) abandon(what.backend, *orders[sent]);
    if (lone) finish(*lone, core::promotion_end::given_up, failed);
    throw;
  }
}

/// `orders` are those to be carried out, and `lone` an object that has started and is in none of them when something is thrown.
void promotion_service::begin(const wish& what, std::span<const std::string_view> keys, std::span<prefetch_word> words,
                              const std::shared_ptr<promotion_wait>& wait, std::vector<std::shared_ptr<work>>& orders,
                              std::optional<std::uint64_t>& lone) {
  const steady::time_point now = steady::now();
  // Of a store that does not answer a few are enough to find out when it does.
  std::size_t room = room_[what.backend].load(std::memory_order_relaxed);
  if (!truth_.is_reachable(what.backend)) room = std::min(room, most_keys_per_call);
  const std::lock_guard holding(lock_);
  if (wait) {
    wait->objects.reserve(wait->objects.size() + keys.size());
    const std::lock_guard counting(wait->lock);
    wait->failed.reserve(wait->objects.size() + keys.size());  // whoever tells of an end can always do so
  }
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const std::uint64_t object = fingerprint(what.backend, what.tenant, keys[i]);
    const core::promotion_verdict verdict = gate_.ask(object, what.backend, now, room);
    const bool is_coming = verdict == core::promotion_verdict::started || verdict == core::promotion_verdict::joined;
    if (verdict == core::promotion_verdict::started) {
      count(started);
      lone = object;
    }
    if (is_coming && wait) {
      waiting_[object].push_back(wait);
      wait->objects.push_back(object);
      const std::lock_guard counting(wait->lock);
      ++wait->left;
    }
    switch (verdict) {
      case core::promotion_verdict::started:
        words[i] = prefetch_word::started;
        if (orders.empty() || orders.back()->order.keys.size() == most_keys_per_call) {
          promotion_order& order = orders.emplace_back(std::make_shared<work>())->order;
          order.tenant = what.tenant;
          order.preferred = what.preferred;
          order.deadline = now + settings_.prefetch_deadline;
          order.model = what.model;
          order.salt = what.salt;
          order.tokens.assign(what.tokens.begin(), what.tokens.end());
        }
        orders.back()->order.asked.push_back(now);
        orders.back()->order.keys.emplace_back(keys[i]);
        lone.reset();
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
  drop_queue(*old);
  forget(backend);
  const std::lock_guard holding(lock_);
  gate_.set_sharing(backend, false);
}

std::shared_ptr<promotion_target> promotion_service::target(std::uint32_t backend) const {
  const auto found = targets_.find(backend);
  return found == targets_.end() ? nullptr : found->second;
}

void promotion_service::enqueue(work& what, std::uint32_t backend) {
  const std::shared_ptr<promotion_target> to = target(backend);
  if (!to) return give_up(backend, what);
  try {
    to->queue.emplace_back();
    std::swap(to->queue.back(), what.order);
    if (to->runners < settings_.prefetch_concurrency) home_.tasks.spawn("promotions", run(runner_place(to)));
  } catch (const std::exception& thrown) {
    log::error(log::module::stream, "promotions not begun", {{"backend", objects_.name(backend)}, {"reason", thrown.what()}});
  }
  give_up(backend, what);  // unless it is in the queue
  if (to->runners == 0) drop_queue(*to);
}

/// The first order, and those behind it that can be one call with it. What has passed its deadline is not joined: nobody wants it. What is
/// in the queue no more when something is thrown is in `order`.
void promotion_service::take_next(promotion_target& target, promotion_order& order) {
  order = std::move(target.queue.front());
  target.queue.pop_front();
  const std::size_t most = std::min(target.executor->keys_per_call(), most_keys_per_call);
  const steady::time_point now = steady::now();
  if (order.deadline <= now || !order.tokens.empty() || target.queue.empty()) return;
  order.keys.reserve(most);
  order.asked.reserve(most);
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

/// Whatever is thrown costs an order and no more.
asio::awaitable<void> promotion_service::run(runner_place place) {
  co_await asio::this_coro::throw_if_cancelled(false);
  co_await asio::this_coro::reset_cancellation_state(at_once);
  const std::shared_ptr<promotion_target> target = place.target();
  while (!target->queue.empty()) {
    work next;
    try {
      take_next(*target, next.order);
      co_await carry_out(target, next);
    } catch (const std::exception& thrown) {
      log::error(log::module::stream, "promotions given up", {{"backend", objects_.name(target->backend)}, {"reason", thrown.what()}});
    }
    give_up(target->backend, next);
  }
}

asio::awaitable<void> promotion_service::carry_out(std::shared_ptr<promotion_target> target, work& what) {
  using namespace asio::experimental::awaitable_operators;
  const promotion_order& order = what.order;
  std::vector<promotion_outcome> outcomes(order.keys.size());
  for (promotion_outcome& each : outcomes) {
    each.what = promotion_result::given_up;
    each.reason = "given up";
  }
  const promotion_progress progress = [&](std::span<const std::size_t> places, std::span<const promotion_outcome> so_far) {
    settle(target->backend, what, places, so_far);
  };
  const steady::time_point began = steady::now();
  const auto before = co_await asio::this_coro::cancellation_state;
  if (before.cancelled() == asio::cancellation_type::none && began < order.deadline) {
    auto first = co_await (promote_by(*target->executor, order, progress) || until_stopped(target));
    const auto after = co_await asio::this_coro::cancellation_state;
    const bool is_leaving = target->is_stopping || after.cancelled() != asio::cancellation_type::none;
    moved* const by = std::get_if<0>(&first);
    if (by != nullptr && !by->thrown) {
      outcomes = std::move(by->outcomes);
    } else if (by != nullptr && !is_leaving) {
      for (promotion_outcome& each : outcomes) {
        each.what = promotion_result::failed;
        each.reason = reason_of(by->thrown);
      }
    }
    note_length(*target, steady::now() - began);
  }
  outcomes.resize(order.keys.size());
  std::vector<std::size_t> all(order.keys.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  settle(target->backend, what, all, outcomes);
}

}  // namespace kvc::net
