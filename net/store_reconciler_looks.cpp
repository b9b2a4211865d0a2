// Which objects stores are asked about, and when.
#include <algorithm>
#include <exception>
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
constexpr std::chrono::milliseconds after_failure{500};   ///< of our own, as for want of memory
constexpr std::size_t most_halvings = 16;                 ///< of one look, to find the keys that nothing is heard about
constexpr std::uint32_t absence = 2;                      ///< looks in a row without an answer: in less, no store begins anew
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
  try {
    asio::post(home_.context, [this, backend, most, tenant = std::string(tenant), keys = std::move(keys)]() mutable {
      under_way_.fetch_sub(keys.size(), std::memory_order_relaxed);
      keep(backend, tenant, std::move(keys), most);
    });
  } catch (...) {  // they are not on their way
    under_way_.fetch_sub(room, std::memory_order_relaxed);
    throw;
  }
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

/// To be asked again: nobody else may ask for them. What was its turn only has another one.
void store_reconciler::put_back(std::uint32_t backend, look which) {
  if (which.is_touched) keep(backend, which.tenant, std::move(which.keys), most_touched);
}

/// A look if the store answers at all; in parts where it does and is silent about these keys, since one of them may be why.
asio::awaitable<bool> store_reconciler::ask(promotion_target& target, look which, std::size_t& asked) {
  if (!is_reachable(target.backend) && !co_await greet(target)) {
    put_back(target.backend, std::move(which));
    co_return false;
  }
  bool is_answered = true;
  std::deque<look> open;
  if (!which.keys.empty()) open.push_back(std::move(which));
  for (std::size_t halvings = most_halvings; !open.empty();) {
    look next = std::move(open.front());
    open.pop_front();
    asked += next.keys.size();
    const heard what = co_await look_at(target, next);
    is_answered = is_answered && what != heard::nonsense;
    if (what != heard::silence) continue;
    const bool is_there = co_await wait_for(home_, target, between_looks) && co_await greet(target);
    if (!is_there) {
      put_back(target.backend, std::move(next));
      for (look& each : open) put_back(target.backend, std::move(each));
      co_return false;
    }
    const std::size_t half = next.keys.size() / 2;
    if (half != 0 && halvings != 0) {
      --halvings;
      look rest{.tenant = next.tenant, .keys = {}, .were_known = {}, .is_touched = next.is_touched};
      rest.keys.assign(next.keys.begin() + static_cast<std::ptrdiff_t>(half), next.keys.end());
      next.keys.resize(half);
      open.push_front(std::move(rest));
      open.push_front(std::move(next));
    } else if (half != 0 && next.is_touched) {
      put_back(target.backend, std::move(next));
    } else {
      apply(target.backend, next, std::vector<placement>(next.keys.size()), objects_.now());  // untold
    }
  }
  co_return is_answered;
}

asio::awaitable<store_reconciler::heard> store_reconciler::look_at(promotion_target& target, look which) {
  const std::uint32_t asked_at = objects_.now();
  note_known(target.backend, which);
  const auto found = co_await target.executor->locate(which.keys, which.tenant, settings_.store_call_timeout);
  // What it says about itself is not about the one that has taken its place.
  if (target.is_stopping) co_return heard::silence;
  if (!found) {
    note_silence(target.backend, found.error());
    if (found.error() != errc::not_understood) co_return heard::silence;
    // The sweep goes on with others: one of these keys may be why.
    if (!which.is_touched) apply(target.backend, which, std::vector<placement>(which.keys.size()), asked_at);
    co_return heard::nonsense;
  }
  note_answer(target.backend, *found);
  counters_.looked_at.fetch_add(which.keys.size(), std::memory_order_relaxed);
  apply(target.backend, which, *found, asked_at);
  co_return heard::answer;
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

/// One look, if there is anything to be looked at. Answers how long to wait for the next; `away` is how long it was while nothing is heard.
asio::awaitable<steady::duration> store_reconciler::look_around(promotion_target& target, bool sweeps, std::chrono::milliseconds& away) {
  // A full call, or as many keys as half a second has.
  const std::size_t most = std::clamp<std::size_t>(settings_.reconcile_rate / 2, 1, most_keys_per_call);
  look next = sweeps ? next_doubtful(target.backend, most) : next_touched(target.backend, most);
  if (next.keys.empty()) next = sweeps ? next_touched(target.backend, most) : next_doubtful(target.backend, most);
  if (next.keys.empty() && is_reachable(target.backend)) co_return between_looks;
  std::size_t asked = 0;
  const bool is_answered = co_await ask(target, std::move(next), asked);
  away = is_answered ? between_looks : std::min(away * 2, longest_away);
  co_return std::max<steady::duration>(is_answered ? steady::duration() : away,
                                       std::chrono::microseconds(asked * 1'000'000 / settings_.reconcile_rate));
}

asio::awaitable<void> store_reconciler::watch(std::shared_ptr<promotion_target> target, std::uint64_t number) {
  co_await asio::this_coro::throw_if_cancelled(false);
  co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
  if (watches_[target->backend] != number) co_return;
  if (settings_.reconcile_rate == 0) co_return;
  std::chrono::milliseconds away = between_looks;
  // In turn, so that touched keys, however many, cannot keep the others waiting.
  for (bool sweeps = false;; sweeps = !sweeps) {
    steady::duration rest = after_failure;
    try {
      rest = co_await look_around(*target, sweeps, away);
    } catch (const std::exception& thrown) {  // costs this look and no more
      log::error(log::module::stream, "a look at a store failed", {{"backend", objects_.name(target->backend)}, {"reason", thrown.what()}});
    }
    if (lines_[target->backend].has_kept_back()) tell_kept_back(target->backend);
    const bool goes_on = co_await wait_for(home_, *target, rest);
    if (!goes_on) break;
  }
  if (watches_[target->backend] == number) end_of(target->backend);  // else another one has taken its place
}

}  // namespace kvc::net
