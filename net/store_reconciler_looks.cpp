// Which objects stores are asked about, and when.
#include <algorithm>
#include <utility>

#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "net/log.hpp"
#include "net/store_reconciler.hpp"

namespace kvc::net {
namespace {

using steady = std::chrono::steady_clock;

constexpr std::size_t most_touched = 8'192;               ///< keys of one backend that wait to be read again
constexpr std::size_t most_doubted = most_touched / 2;    ///< so many wait before events add no more
constexpr std::size_t most_sought = most_touched / 4;     ///< and before probes add no more of what nobody knows
constexpr std::size_t most_under_way = 4 * most_touched;  ///< keys, of all backends, that have not reached the home lane
constexpr std::chrono::milliseconds between_looks{50};    ///< when nothing is due
constexpr std::uint32_t absence = 2;  ///< looks in a row without an answer: in less, no store begins anew
constexpr std::chrono::milliseconds longest_away{5'000};  ///< between two tries of a store that does not answer

asio::awaitable<bool> wait_for(lane& home, promotion_target& target, steady::duration how_long) {
  asio::steady_timer timer(home.context, how_long);
  error_code woken;
  co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, woken));
  const auto stopping = co_await asio::this_coro::cancellation_state;
  co_return !woken && stopping.cancelled() == asio::cancellation_type::none && !target.is_stopping;
}

}  // namespace

void store_reconciler::touch(std::uint32_t backend, std::string_view tenant, std::vector<std::string> keys) {
  remember(backend, tenant, std::move(keys), most_touched);
}

void store_reconciler::seek(std::uint32_t backend, std::string_view tenant, std::vector<std::string> keys) {
  remember(backend, tenant, std::move(keys), most_sought);
}

void store_reconciler::doubt(std::uint32_t backend, std::string_view tenant, std::vector<std::string> keys) {
  remember(backend, tenant, std::move(keys), most_doubted);
}

void store_reconciler::remember(std::uint32_t backend, std::string_view tenant, std::vector<std::string> keys, std::size_t most) {
  const std::size_t wanted = keys.size();
  const std::size_t before = under_way_.fetch_add(wanted, std::memory_order_relaxed);
  const std::size_t room = before < most_under_way ? std::min(wanted, most_under_way - before) : 0;
  if (room < wanted) {
    under_way_.fetch_sub(wanted - room, std::memory_order_relaxed);
    counters_.left_out.fetch_add(wanted - room, std::memory_order_relaxed);
    keys.resize(room);
  }
  if (keys.empty()) return;
  asio::post(home_.context, [this, backend, most, tenant = std::string(tenant), keys = std::move(keys)]() mutable {
    under_way_.fetch_sub(keys.size(), std::memory_order_relaxed);
    keep(backend, tenant, std::move(keys), most);
  });
}

void store_reconciler::keep(std::uint32_t backend, const std::string& tenant, std::vector<std::string> keys, std::size_t most) {
  waiting& mine = touched_[backend];
  for (std::string& each : keys) {
    if (mine.keys.size() >= most) {
      counters_.left_out.fetch_add(1, std::memory_order_relaxed);
      continue;
    }
    if (mine.known.insert(promotion_service::fingerprint(backend, tenant, each)).second) mine.keys.push_back({tenant, std::move(each)});
  }
}

/// Keys of one tenant from the front.
store_reconciler::look store_reconciler::next_touched(std::uint32_t backend, std::size_t most) {
  look next;
  next.is_touched = true;
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

void store_reconciler::note_known(std::uint32_t backend, look& which) const {
  objects_.read(backend, [&](const core::object_table& table) {
    const std::uint32_t owner = table.find_owner(objects_.name(backend), which.tenant);
    for (const std::string& each : which.keys) {
      which.were_known.push_back(owner != core::no_record && table.find(owner, each) != core::no_record);
    }
  });
}

asio::awaitable<bool> store_reconciler::look_at(promotion_target& target, look which) {
  const std::uint32_t asked_at = objects_.now();
  note_known(target.backend, which);
  const auto found = co_await target.executor->locate(which.keys, which.tenant, settings_.store_call_timeout);
  const bool is_answered = found && !target.is_stopping;
  // Nobody may ask for them again, and whoever answers next can be asked. What an answer is not understood for may be one of the keys.
  const bool is_lost = !is_answered && which.is_touched && (found || found.error() != errc::not_understood);
  if (is_lost) keep(target.backend, which.tenant, which.keys, most_touched);
  // What it says about itself is not about the one that has taken its place.
  if (target.is_stopping) co_return false;
  if (!found) {
    // The sweep goes on with others: one of these keys may be why.
    const bool may_be_a_key = found.error() == errc::not_understood && !which.is_touched;
    if (may_be_a_key) apply(target.backend, which, std::vector<placement>(which.keys.size()), asked_at);
    note_silence(target.backend, found.error());
    co_return false;
  }
  note_answer(target.backend, *found);
  counters_.looked_at.fetch_add(which.keys.size(), std::memory_order_relaxed);
  apply(target.backend, which, *found, asked_at);
  co_return true;
}

/// Asks for a key that need not be there, only to hear something.
asio::awaitable<bool> store_reconciler::greet(promotion_target& target) {
  const std::vector<std::string> any{"kv-conductor"};
  const std::string tenant = "default";
  const auto found = co_await target.executor->locate(any, tenant, settings_.store_call_timeout);
  if (target.is_stopping) co_return false;
  // The key is ours and harmless: whoever refuses it would refuse any.
  const bool is_told = found && found->front().asked != steady::time_point();
  is_told ? note_answer(target.backend, *found) : note_silence(target.backend, found ? error_code(errc::not_understood) : found.error());
  co_return is_reachable(target.backend);
}

void store_reconciler::note_silence(std::uint32_t backend, const error_code& why) {
  if (why == errc::cancelled) return;
  counters_.failed.fetch_add(1, std::memory_order_relaxed);
  ++silences_[backend];
  if (reach_[backend].exchange(reach::away, std::memory_order_relaxed) != reach::away) tell_reach(backend, why.message());
}

void store_reconciler::note_answer(std::uint32_t backend, std::span<const placement> found) {
  // Where no key can be asked for nobody has been asked.
  const bool has_answered = std::ranges::any_of(found, [](const placement& each) { return each.asked != steady::time_point(); });
  if (!has_answered) return;
  const std::uint32_t silences = std::exchange(silences_[backend], 0);
  if (reach_[backend].exchange(reach::fine, std::memory_order_relaxed) != reach::away) return;
  tell_reach(backend, {});
  if (silences >= absence && tell_of_return_) tell_of_return_(backend);
}

/// Says that the store is away, and why, or there again.
void store_reconciler::tell_reach(std::uint32_t backend, std::string_view why) {
  tell_kept_back(backend);
  if (!lines_[backend].take(steady::now())) return;
  if (why.empty()) {
    log::info(log::module::stream, "store can be asked again", {{"backend", objects_.name(backend)}});
  } else {
    log::warn(log::module::stream, "store cannot be asked", {{"backend", objects_.name(backend)}, {"reason", why}});
  }
}

/// Says how often the store has come and gone since the last line, when it is time to.
void store_reconciler::tell_kept_back(std::uint32_t backend) {
  const auto lines = lines_[backend].settle(steady::now());
  if (!lines) return;
  log::warn(log::module::stream, "store comes and goes",
            {{"backend", objects_.name(backend)}, {"changes", *lines}, {"reachable", is_reachable(backend)}});
}

asio::awaitable<void> store_reconciler::keep_true(std::shared_ptr<promotion_target> target) {
  const std::uint64_t number = ++watches_[target->backend];
  reach_[target->backend].store(settings_.reconcile_rate == 0 ? reach::unasked : reach::unknown, std::memory_order_relaxed);
  return watch(std::move(target), number);
}

void store_reconciler::end_of(std::uint32_t backend) {
  ++watches_[backend];  // whoever looks at it still has nothing to say any more
  touched_.erase(backend);
  reach_[backend].store(reach::unasked, std::memory_order_relaxed);
}

asio::awaitable<void> store_reconciler::watch(std::shared_ptr<promotion_target> target, std::uint64_t number) {
  co_await asio::this_coro::throw_if_cancelled(false);
  co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
  if (watches_[target->backend] != number) co_return;
  if (settings_.reconcile_rate == 0) co_return;
  // A full call, or as many keys as half a second has.
  const std::size_t most = std::clamp<std::size_t>(settings_.reconcile_rate / 2, 1, most_keys_per_call);
  std::chrono::milliseconds away = between_looks;
  for (bool sweeps = false;; sweeps = !sweeps) {
    // In turn, so that touched keys, however many, cannot keep the others waiting.
    look next = sweeps ? next_doubtful(target->backend, most) : next_touched(target->backend, most);
    if (next.keys.empty()) next = sweeps ? next_touched(target->backend, most) : next_doubtful(target->backend, most);
    steady::duration rest = between_looks;
    const std::size_t keys = next.keys.size();
    // Of one key alone a refusal would not tell whether it is the key's or anybody's.
    const bool is_to_be_greeted = keys <= 1 && !is_reachable(target->backend);
    if (keys != 0 || is_to_be_greeted) {
      bool is_answered = false;
      if (is_to_be_greeted) is_answered = co_await greet(*target);
      if (!is_to_be_greeted || (is_answered && keys != 0)) {
        is_answered = co_await look_at(*target, std::move(next));
      } else if (next.is_touched) {
        keep(target->backend, next.tenant, std::move(next.keys), most_touched);
      }
      away = is_answered ? between_looks : std::min(away * 2, longest_away);
      rest = std::max<steady::duration>(away == between_looks ? steady::duration() : away,
                                        std::chrono::microseconds(keys * 1'000'000 / settings_.reconcile_rate));
    }
    if (lines_[target->backend].has_kept_back()) tell_kept_back(target->backend);
    const bool goes_on = co_await wait_for(home_, *target, rest);
    if (!goes_on) break;
  }
  if (watches_[target->backend] == number) end_of(target->backend);  // else another one has taken its place
}

}  // namespace kvc::net
