// How promotions end: for the table, the gate, the counters and whoever waits.
#include <algorithm>
#include <bit>
#include <exception>
#include <iterator>
#include <numeric>
#include <utility>

#include <boost/asio/post.hpp>

#include "net/log.hpp"
#include "net/promotion_service.hpp"

namespace kvc::net {
namespace {

constexpr std::size_t longest_logged_key = 128;

}  // namespace

/// What we gave up may have come by events all the same.
void promotion_service::give_up(std::uint32_t backend, work& what) noexcept {
  const std::size_t keys = what.order.keys.size();
  std::size_t open = 0;
  for (std::size_t i = 0; i < keys; ++i) open += what.is_open(i) ? 1U : 0U;
  if (open == 0) return;
  try {
    std::vector<std::size_t> all(keys);
    std::iota(all.begin(), all.end(), std::size_t{0});
    promotion_outcome end;
    end.what = promotion_result::given_up;
    end.reason = "given up";
    settle(backend, what, all, std::vector<promotion_outcome>(keys, end));
  } catch (const std::exception&) {  // there is no memory for a look
    abandon(backend, what);
  }
}

void promotion_service::abandon(std::uint32_t backend, const work& what) noexcept {
  const promotion_order& order = what.order;
  for (std::size_t i = 0; i < order.keys.size(); ++i) {
    if (what.is_open(i)) finish(fingerprint(backend, order.tenant, order.keys[i]), core::promotion_end::given_up, failed);
  }
}

void promotion_service::drop_queue(promotion_target& of) noexcept {
  while (!of.queue.empty()) {
    work each;
    std::swap(each.order, of.queue.front());
    of.queue.pop_front();
    give_up(of.backend, each);
  }
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

void promotion_service::settle(std::uint32_t backend, work& what, std::span<const std::size_t> places,
                               std::span<const promotion_outcome> outcomes) {
  const promotion_order& order = what.order;
  std::vector<std::size_t> open;
  std::ranges::copy_if(places, std::back_inserter(open), [&what](std::size_t each) { return what.is_open(each); });
  std::vector<std::string> keys;
  std::vector<placement> seen;
  for (const std::size_t i : open) {
    const promotion_outcome& each = outcomes[i];
    if (each.seen.is_known) {
      keys.push_back(order.keys[i]);
      seen.push_back(each.seen);
    }
  }
  what.has_ended.resize(order.keys.size());
  // The table first: whoever is told of the end looks there.
  if (!keys.empty()) truth_.take_truth(backend, order.tenant, keys, seen);
  const std::vector<bool> is_there = by_table(backend, order, open);
  for (std::size_t at = 0; at < open.size(); ++at) {
    end_one(backend, order, open[at], outcomes[open[at]], is_there[at]);
    what.has_ended[open[at]] = true;
  }
}

/// `is_there`: in memory, by the table.
void promotion_service::end_one(std::uint32_t backend, const promotion_order& order, std::size_t place, const promotion_outcome& how,
                                bool is_there) {
  core::promotion_end end = core::promotion_end::failed;
  outcome what = failed;
  // It was not in memory when it was wished for: events have told of it since.
  const bool has_come = is_there && how.what != promotion_result::accepted;
  switch (has_come ? promotion_result::already : how.what) {
    case promotion_result::accepted:
    case promotion_result::already:
      end = core::promotion_end::done;
      what = has_come || how.what == promotion_result::already ? already : accepted;
      counters_.bytes.fetch_add(how.what == promotion_result::accepted ? how.seen.bytes : 0, std::memory_order_relaxed);
      counters_.latency.observe_ns(static_cast<std::uint64_t>(std::chrono::nanoseconds(steady::now() - order.asked[place]).count()));
      break;
    case promotion_result::rejected_pressure:
      end = core::promotion_end::pressure;
      what = rejected_pressure;
      break;
    case promotion_result::unsupported: what = unsupported; break;
    case promotion_result::gone: what = gone; break;
    case promotion_result::given_up: end = core::promotion_end::given_up; break;
    case promotion_result::failed: break;
  }
  if (end != core::promotion_end::done) note_failure(backend, order, place, how);
  finish(fingerprint(backend, order.tenant, order.keys[place]), end, what);
}

/// Throws nothing where it was given up.
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
      if (how != core::promotion_end::done) each->failed.push_back(object);  // there is room, see `begin`
    }
    if (left != 0) continue;
    try {
      asio::post(each->home.context, [each] { each->alarm.cancel(); });
    } catch (const std::exception&) {  // no memory: it looks by itself when its time is over
    }
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
