#include "net/master_executor.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <utility>

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "net/master_answers.hpp"

namespace kvc::net {
namespace {

using steady = std::chrono::steady_clock;
using enum core::replica_kind;
using enum core::replica_state;

constexpr std::size_t most_look_bytes = std::size_t{4} << 20;  ///< of an answer about many keys, or of the page of metrics
constexpr std::chrono::milliseconds first_look_after{10};
constexpr std::chrono::milliseconds longest_between_looks{500};
constexpr std::size_t most_list_bytes = 6 * 1'024;     ///< of keys in one target: proxies take 8 KiB of request line
constexpr std::size_t most_halvings = 64;              ///< of one look, to find the keys that a list is refused for
constexpr std::size_t most_halvings_for_nothing = 16;  ///< while no list is answered: it is not the keys
constexpr std::size_t most_failed_touches = 8;         ///< of one round: it is not the keys
constexpr std::size_t most_failed_looks = 8;           ///< of one round, at parts of an order
constexpr int slow_rest = 4;                           ///< a key that is not answered for in time is left alone for so many times as long
constexpr unsigned exchanges_per_look = 8;             ///< so often may a look be as long as one exchange

/// What a look says about an object whose promotion has been asked for, or is going to be; absent: it has to be waited for.
std::optional<promotion_outcome> settled(const placement& seen, promotion_result when_in_memory) {
  promotion_outcome outcome;
  outcome.seen = seen;
  const core::replica_set where = seen.set();
  if (!seen.is_known) return std::nullopt;
  if (where.has(memory, complete)) {
    outcome.what = when_in_memory;
  } else if (seen.tells_memory_only) {
    return std::nullopt;  // where else it is nobody can say
  } else if (!where.has_complete() && !where.has(memory, in_flight)) {
    outcome.what = promotion_result::gone;
    outcome.reason = "the object is gone";
  } else if (!where.has(local_disk, complete) && !where.has(memory, in_flight)) {
    outcome.what = promotion_result::unsupported;
    outcome.reason = "the object is on no disk that can be promoted from";
  } else {
    return std::nullopt;
  }
  return outcome;
}

}  // namespace

asio::awaitable<bool> master_executor::pause(steady::duration how_long) {
  asio::steady_timer timer(executor_, how_long);
  error_code woken;
  co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, woken));
  const auto stopping = co_await asio::this_coro::cancellation_state;
  co_return !woken && stopping.cancelled() == asio::cancellation_type::none;
}

asio::awaitable<result<master_executor::refusal>> master_executor::look_at(const std::vector<std::string>& keys,
                                                                           const std::vector<std::size_t>& places,
                                                                           const std::string& tenant, time_point deadline,
                                                                           std::vector<placement>& found) {
  std::vector<std::string> asked_for;
  for (const std::size_t each : places) asked_for.push_back(keys[each]);
  const time_point asked = steady::now();
  auto answer = co_await caller_.call("GET", locate_target({}, asked_for, tenant), std::string(), deadline, most_look_bytes);
  if (!answer) co_return answer.error();
  // Nobody led until the deadline, which is no fault of the keys: they can be asked for again.
  if (answer->status == 503) co_return error_code(errc::timed_out);
  if (answer->status != 200) co_return refusal::of_list;
  auto read = read_placements(answer->body, asked_for);
  if (!read) co_return refusal::not_understood;
  for (std::size_t i = 0; i < places.size(); ++i) {
    found[places[i]] = std::move((*read)[i]);
    found[places[i]].asked = asked;
  }
  co_return refusal::none;
}

/// Keys that are left out because of what they do to a list stay unknown.
asio::awaitable<error_code> master_executor::look_together(const std::vector<std::string>& keys, std::span<const std::size_t> places,
                                                           const std::string& tenant, time_point deadline, duration patience,
                                                           std::vector<placement>& found) {
  std::deque<std::vector<std::size_t>> lists = lists_by_bytes(keys, places, most_list_bytes);
  bool is_told = false;
  bool is_key_refused = false;
  for (std::size_t halvings = 0; !lists.empty();) {
    const std::vector<std::size_t> list = std::move(lists.front());
    lists.pop_front();
    const time_point until = std::min(deadline, steady::now() + patience);
    const auto refused = co_await look_at(keys, list, tenant, until, found);
    if (!refused) co_return refused.error();
    is_told = is_told || *refused == refusal::none;
    if (*refused == refusal::none) continue;
    if (list.size() == 1) is_key_refused = is_key_refused || *refused == refusal::of_list;
    const bool goes_on = list.size() > 1 && halvings < (is_told ? most_halvings : most_halvings_for_nothing);
    if (!goes_on) continue;
    ++halvings;
    const auto middle = list.begin() + static_cast<std::ptrdiff_t>(list.size() / 2);
    lists.emplace_back(list.begin(), middle);
    lists.emplace_back(middle, list.end());
  }
  // Of a single key that is refused nobody can say whether it is the key.
  const bool may_be_the_key = places.size() == 1 && is_key_refused;
  co_return is_told || may_be_the_key ? error_code() : error_code(errc::not_understood);
}

asio::awaitable<error_code> master_executor::look_alone(const std::string& key, const std::string& tenant, time_point deadline,
                                                        placement& found) {
  const auto target = touch_target({}, key, tenant);
  if (!target) co_return error_code();  // unknown
  const time_point asked = steady::now();
  const auto answer = co_await caller_.call("GET", *target, std::string(), deadline, most_look_bytes);
  if (!answer) co_return answer.error();
  found = read_single(answer->status, answer->body);
  found.asked = asked;
  co_return error_code();
}

asio::awaitable<result<std::vector<placement>>> master_executor::look(const std::vector<std::string>& keys, const std::string& tenant,
                                                                      time_point deadline, duration patience, looking how) {
  std::vector<placement> found(keys.size());
  std::vector<std::size_t> together;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (!goes_alone(keys[i])) {
      together.push_back(i);
      continue;
    }
    if (how == looking::moves_nothing) continue;
    const error_code failed = co_await look_alone(keys[i], tenant, deadline, found[i]);
    if (failed) co_return failed;
  }
  if (!together.empty()) {
    const error_code failed = co_await look_together(keys, together, tenant, deadline, patience, found);
    if (failed) co_return failed;
  }
  co_return found;
}

asio::awaitable<result<std::vector<placement>>> master_executor::locate(const std::vector<std::string>& keys, const std::string& tenant,
                                                                        steady::duration patience) {
  co_return co_await look(keys, tenant, steady::now() + exchanges_per_look * patience, patience, looking::moves_nothing);
}

/// Whether anything is answered: for our own key, which nobody has reason to refuse.
asio::awaitable<bool> master_executor::answers(time_point deadline) {
  const std::vector<std::string> any{"kv-conductor"};
  const std::vector<std::size_t> places{0};
  std::vector<placement> found(1);
  const auto refused = co_await look_at(any, places, "default", deadline, found);
  co_return refused.has_value() && refused.value() == refusal::none;
}

/// As many placements as are open; what nobody answered for is unknown. Errors, where nothing was answered: those of `look`.
asio::awaitable<error_code> master_executor::look_in_parts(const promotion_order& order, std::vector<waiting>& open,
                                                           std::vector<placement>& found) {
  found.assign(open.size(), placement());
  std::map<std::size_t, std::vector<std::size_t>> parts;  // those that have failed come last, the one that did so last behind them
  std::size_t next = 1;
  for (std::size_t i = 0; i < open.size(); ++i) {
    next = std::max(next, open[i].part + 1);
    if (open[i].look_from <= steady::now()) parts[open[i].part].push_back(i);
  }
  bool is_told = false;
  bool is_there = false;
  error_code why = errc::timed_out;
  for (std::size_t failures = 0; !parts.empty() && failures < most_failed_looks;) {
    const std::vector<std::size_t> list = std::move(parts.begin()->second);
    parts.erase(parts.begin());
    std::vector<std::string> keys;
    for (const std::size_t each : list) keys.push_back(open[each].key);
    const time_point began = steady::now();
    auto seen = co_await look(keys, order.tenant, order.deadline, duration::max() / 2, looking::promotes);
    if (seen) {
      is_told = is_there = true;
      for (std::size_t i = 0; i < list.size(); ++i) {
        found[list[i]] = std::move((*seen)[i]);
        open[list[i]].part = 0;
      }
      continue;
    }
    why = seen.error();
    if (why == errc::cancelled) co_return why;
    const bool may_be_a_key = open.size() > 1 && why != errc::not_understood;  // of what is not understood parts have been tried
    if (may_be_a_key && !is_there) is_there = co_await answers(order.deadline);
    if (!may_be_a_key || !is_there) co_return is_told ? error_code() : why;
    // What nobody answers for in time costs the others their time.
    const bool is_slow = why == errc::timed_out;
    failures = is_slow ? most_failed_looks : failures + 1;
    const std::size_t half = list.size() / 2;
    if (half == 0 && is_slow) open[list.front()].look_from = steady::now() + slow_rest * (steady::now() - began);
    for (std::size_t i = 0; i < list.size(); ++i) open[list[i]].part = i < half ? next : next + 1;
    if (half != 0) {
      parts[next].assign(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(half));
      parts[next + 1].assign(list.begin() + static_cast<std::ptrdiff_t>(half), list.end());
    }
    next += 2;
  }
  co_return is_told ? error_code() : why;
}

/// All wishes for a key one after the other. An answer other than 200 means that there is nothing to promote, which the next look will
/// show.
asio::awaitable<void> master_executor::touch_some(const promotion_order& order, touching& shared) {
  while (shared.next < shared.open.size()) {
    waiting& each = shared.open[shared.next++];
    if (!each.is_to_be_asked_for()) continue;
    const std::string target = touch_target({}, each.key, order.tenant).value_or(std::string());
    while (each.hits_left != 0) {
      if (shared.failures >= most_failed_touches) co_return;
      const auto answer = co_await caller_.call("GET", target, std::string(), order.deadline);
      if (!answer && answer.error() == errc::cancelled) co_return;
      if (answer) {
        --each.hits_left;
        continue;
      }
      ++shared.failures;  // the others are not to blame
      break;
    }
  }
}

asio::awaitable<void> master_executor::touch(const promotion_order& order, std::vector<waiting>& open) {
  using namespace asio::experimental::awaitable_operators;
  touching shared{.open = open};
  if (std::ranges::none_of(open, &waiting::is_to_be_asked_for)) co_return;
  const auto some = [&] { return touch_some(order, shared); };
  if (open.size() == 1) co_return co_await some();
  co_await (some() && some() && some() && some() && some() && some() && some() && some());
}

/// Whether the master has refused promotions for want of memory since the order began; the first call of an order only learns the number.
asio::awaitable<bool> master_executor::sees_pressure(time_point deadline, std::optional<std::uint64_t>& at_first) {
  const auto page = co_await caller_.call("GET", "/metrics", std::string(), deadline, most_look_bytes);
  if (!page || page->status != 200) co_return false;
  refused_ = read_watermark_rejections(page->body);
  if (!at_first || refused_ < *at_first) at_first = refused_;  // less: the master has begun anew
  co_return refused_ > *at_first;
}

asio::awaitable<std::vector<promotion_outcome>> master_executor::promote(const promotion_order& order, const promotion_progress& progress) {
  std::vector<promotion_outcome> outcomes(order.keys.size());
  for (promotion_outcome& each : outcomes) each.reason = "the master does not answer";
  const std::size_t hits = std::max<std::size_t>(settings_.promotion_hits, 1);
  std::vector<waiting> open(order.keys.size());
  for (std::size_t i = 0; i < order.keys.size(); ++i) {
    open[i].key = order.keys[i];
    open[i].place = i;
    open[i].hits_left = hits;
  }
  std::optional<std::uint64_t> refused_at_first;
  bool is_pressed = false;
  std::chrono::milliseconds between = first_look_after;
  for (;;) {
    std::vector<placement> seen;
    const error_code unseen = co_await look_in_parts(order, open, seen);
    if (unseen) {
      if (unseen == errc::cancelled) co_return outcomes;
      for (const waiting& each : open) {
        outcomes[each.place].reason = is_pressed ? "the master has no room" : unseen.message();
        if (is_pressed) outcomes[each.place].what = promotion_result::rejected_pressure;
      }
    } else {
      std::vector<waiting> still;
      std::vector<std::size_t> ended;
      for (std::size_t i = 0; i < open.size(); ++i) {
        waiting& one = open[i];
        const placement& there = seen[i];
        promotion_outcome& outcome = outcomes[one.place];
        const bool was_asked_for = one.hits_left < hits;
        if (auto end = settled(there, was_asked_for ? promotion_result::accepted : promotion_result::already)) {
          outcome = std::move(*end);
          ended.push_back(one.place);
          continue;
        }
        if (there.is_known) outcome.seen = there;
        one.is_coming = there.is_known && there.set().has(memory, in_flight);
        if (!one.is_coming && !touch_target({}, one.key, order.tenant)) {
          outcome.what = promotion_result::unsupported;
          outcome.reason = "the key cannot stand in a request";
          ended.push_back(one.place);
          continue;
        }
        outcome.what = is_pressed ? promotion_result::rejected_pressure : promotion_result::failed;
        outcome.reason = is_pressed       ? "the master has no room"
                         : there.is_known ? "not in memory by the deadline"
                                          : "the master does not tell";
        still.push_back(std::move(one));
      }
      open = std::move(still);
      if (!ended.empty()) progress(ended, outcomes);  // nobody has to wait for the slowest
    }
    if (open.empty() || is_pressed) co_return outcomes;
    if (!unseen) {
      if (!refused_at_first) co_await sees_pressure(order.deadline, refused_at_first);
      co_await touch(order, open);
    }
    if (steady::now() + between >= order.deadline) co_return outcomes;
    const bool goes_on = co_await pause(between);
    if (!goes_on) co_return outcomes;
    between = std::min(between * 2, longest_between_looks);
    if (refused_at_first) is_pressed = co_await sees_pressure(order.deadline, refused_at_first);
  }
}

}  // namespace kvc::net
