#include "net/master_executor.hpp"

#include <algorithm>
#include <utility>

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

asio::awaitable<error_code> master_executor::look_at(std::vector<std::string> keys, std::vector<std::size_t> places,
                                                     const std::string& tenant, time_point deadline, std::vector<placement>& found) {
  const time_point asked = steady::now();
  auto answer = co_await caller_.call("GET", locate_target({}, keys, tenant), std::string(), deadline, most_look_bytes);
  if (!answer) co_return answer.error();
  if (answer->status == 404 && keys.size() == 1) {  // the whole list was not found
    found[places.front()].is_known = true;
    found[places.front()].asked = asked;
    co_return error_code();
  }
  // Nobody led until the deadline, which is no fault of the keys: they can be asked for again.
  if (answer->status == 503) co_return error_code(errc::timed_out);
  if (answer->status != 200) co_return error_code(errc::not_understood);
  auto read = read_placements(answer->body, keys);
  if (!read) co_return error_code(errc::not_understood);
  for (std::size_t i = 0; i < places.size(); ++i) {
    found[places[i]] = std::move((*read)[i]);
    found[places[i]].asked = asked;
  }
  co_return error_code();
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
                                                                      time_point deadline, looking how) {
  std::vector<placement> found(keys.size());
  std::vector<std::string> together;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (!goes_alone(keys[i])) {
      together.push_back(keys[i]);
      places.push_back(i);
      continue;
    }
    if (how == looking::moves_nothing) continue;
    const error_code failed = co_await look_alone(keys[i], tenant, deadline, found[i]);
    if (failed) co_return failed;
  }
  if (!together.empty()) {
    const error_code failed = co_await look_at(std::move(together), std::move(places), tenant, deadline, found);
    if (failed) co_return failed;
  }
  co_return found;
}

asio::awaitable<result<std::vector<placement>>> master_executor::locate(const std::vector<std::string>& keys, const std::string& tenant,
                                                                        steady::duration patience) {
  co_return co_await look(keys, tenant, steady::now() + patience, looking::moves_nothing);
}

/// Once per key and wanted hit; a key that cannot be asked for is settled. An answer other than 200 means that there is nothing to promote,
/// which the next look will show.
asio::awaitable<void> master_executor::touch(const promotion_order& order, waiting& open, std::vector<promotion_outcome>& outcomes) {
  for (std::size_t hit = 0; hit < std::max<std::size_t>(settings_.promotion_hits, 1); ++hit) {
    for (std::size_t i = 0; i < open.keys.size();) {
      const auto target = touch_target({}, open.keys[i], order.tenant);
      if (!target) {
        outcomes[open.places[i]].what = promotion_result::unsupported;
        outcomes[open.places[i]].reason = "the key cannot stand in a request";
        open.keys.erase(open.keys.begin() + static_cast<std::ptrdiff_t>(i));
        open.places.erase(open.places.begin() + static_cast<std::ptrdiff_t>(i));
        continue;
      }
      const auto answer = co_await caller_.call("GET", *target, std::string(), order.deadline);
      if (!answer) co_return;  // told by the look that follows
      ++i;
    }
  }
}

/// Whether the master has refused promotions for want of memory since the last call. The first call only learns the number.
asio::awaitable<bool> master_executor::sees_pressure(time_point deadline) {
  const auto page = co_await caller_.call("GET", "/metrics", std::string(), deadline, most_look_bytes);
  if (!page || page->status != 200) co_return false;
  const std::uint64_t now = read_watermark_rejections(page->body);
  const bool has_grown = has_looked_ && now > refused_;
  refused_ = now;
  has_looked_ = true;
  co_return has_grown;
}

asio::awaitable<std::vector<promotion_outcome>> master_executor::promote(const promotion_order& order, const promotion_progress& progress) {
  std::vector<promotion_outcome> outcomes(order.keys.size());
  for (promotion_outcome& each : outcomes) each.reason = "the master does not answer";
  waiting open;
  for (std::size_t i = 0; i < order.keys.size(); ++i) {
    open.keys.push_back(order.keys[i]);
    open.places.push_back(i);
  }
  bool has_touched = false;
  bool is_pressed = false;
  std::chrono::milliseconds between = first_look_after;
  for (;;) {
    const auto seen = co_await look(open.keys, order.tenant, order.deadline, looking::promotes);
    if (!seen) {
      for (const std::size_t place : open.places) outcomes[place].reason = seen.error().message();
      if (seen.error() == errc::cancelled) co_return outcomes;
    } else {
      waiting still;
      std::vector<std::size_t> ended;
      for (std::size_t i = 0; i < open.keys.size(); ++i) {
        promotion_outcome& outcome = outcomes[open.places[i]];
        if (auto end = settled((*seen)[i], has_touched ? promotion_result::accepted : promotion_result::already)) {
          outcome = std::move(*end);
          ended.push_back(open.places[i]);
          continue;
        }
        if ((*seen)[i].is_known) outcome.seen = (*seen)[i];
        outcome.what = is_pressed ? promotion_result::rejected_pressure : promotion_result::failed;
        outcome.reason = is_pressed            ? "the master has no room"
                         : (*seen)[i].is_known ? "not in memory by the deadline"
                                               : "the master does not tell";
        still.keys.push_back(std::move(open.keys[i]));
        still.places.push_back(open.places[i]);
      }
      open = std::move(still);
      if (!ended.empty()) progress(ended, outcomes);  // nobody has to wait for the slowest
    }
    if (open.keys.empty() || is_pressed) co_return outcomes;
    if (!has_touched && seen) {
      co_await sees_pressure(order.deadline);
      co_await touch(order, open, outcomes);
      has_touched = true;
      if (open.keys.empty()) co_return outcomes;
    }
    if (steady::now() + between >= order.deadline) co_return outcomes;
    const bool goes_on = co_await pause(between);
    if (!goes_on) co_return outcomes;
    between = std::min(between * 2, longest_between_looks);
    if (has_touched) is_pressed = co_await sees_pressure(order.deadline);
  }
}

}  // namespace kvc::net
