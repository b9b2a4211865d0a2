// The end of a run of stand-in MP servers: quiet, comparison, drain.
#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include <boost/asio/use_awaitable.hpp>

#include "perf/sim_mp_fleet.hpp"

namespace kvc::sim {

using steady = std::chrono::steady_clock;

/// Every server is a member where it can be reached and has told what it knows. Deletions may go on coming meanwhile.
asio::awaitable<void> mp_fleet::tell_everything() {
  constexpr int most_rounds = 100;
  bool has_news = true;
  for (int round = 0; round < most_rounds && has_news; ++round) {
    has_news = false;
    for (const auto& each : servers_) {
      co_await each->settle();
      has_news = has_news || each->has_news();
    }
  }
  if (has_news) world_.complain("deletions do not come to an end");
}

/// Waits until so many more eviction cycles have begun. False when the coordinator does not tell, or has no cycles.
asio::awaitable<bool> mp_fleet::wait_for_cycles(double more) {
  const auto deadline = steady::now() + mp_patience;
  const auto before = co_await metric("kvc_coordinator_eviction_cycles_total");
  if (!before) co_return false;
  for (;;) {
    const auto now = co_await metric("kvc_coordinator_eviction_cycles_total");
    if (!now || steady::now() > deadline) co_return false;
    if (*now >= *before + more) co_return true;
    co_await service_.nap(std::chrono::milliseconds(5));
  }
}

asio::awaitable<void> mp_fleet::settle() {
  world_.is_quiet = true;
  world_.release.cancel();
  const auto deadline = steady::now() + mp_patience * 3;
  while (!world_.resync_is_over && steady::now() < deadline && !world_.is_stopping) {
    co_await tell_everything();
    co_await watch_resync();
    if (!world_.resync_is_over) co_await service_.nap(std::chrono::milliseconds(20));
  }
  co_await tell_everything();
  while (prefetches_under_way_ > 0 && steady::now() < deadline) co_await service_.nap(std::chrono::milliseconds(20));
}

/// What lies in the storage and what the coordinator has been told of it, at one moment at which nobody has anything left to tell: between
/// any two that are apart the coordinator may have something deleted.
asio::awaitable<void> mp_fleet::take_stock() {
  constexpr int most_rounds = 100;
  const auto has_news = [this] { return std::ranges::any_of(servers_, [](const auto& each) { return each->has_news(); }); };
  for (int round = 0; round < most_rounds && has_news(); ++round) co_await tell_everything();
  outcome_.stored_objects = world_.storage.size();
  outcome_.stored_bytes = world_.storage.bytes();
  outcome_.model_keys = world_.model.size();
  outcome_.model_bytes = world_.model.total_bytes();
}

/// The ledger, salt by salt, against the model. Nothing may be told meanwhile. True when it could be read.
asio::awaitable<bool> mp_fleet::compare(std::string when) {
  const auto answered = co_await service_.ask("GET", "/quota", {});
  if (!answered) co_return false;
  const auto usage = answered->status == 200 ? mp_read_usage(answered->body) : std::nullopt;
  if (!usage) {
    world_.complain("GET /quota answered " + std::to_string(answered->status) + ": " + answered->body.substr(0, 200));
    co_return false;
  }
  const auto& expected = world_.model.bytes();
  for (const auto& [salt, bytes] : expected) {
    const auto told = usage->find(salt);
    const std::uint64_t has = told == usage->end() ? 0 : told->second;
    if (has != bytes) {
      world_.complain(when + ": salt '" + salt + "' has " + std::to_string(has) + " bytes by the coordinator, " + std::to_string(bytes) +
                      " by what it was told");
    }
  }
  for (const auto& [salt, bytes] : *usage) {
    if (!expected.contains(salt)) {
      world_.complain(when + ": salt '" + salt + "' has " + std::to_string(bytes) + " bytes by the coordinator, none by what it was told");
    }
  }
  co_return true;
}

/// Shows the order of use: with no plan under way and nothing being told, limits of 0 bytes make the coordinator ask for the deletion of
/// every key that is not in flight. What is in flight, because the report of its deletion was lost, is reported at the end.
asio::awaitable<void> mp_fleet::drain() {
  constexpr double more_than_enough_gb = 1e6;
  co_await set_quotas(more_than_enough_gb);
  const bool has_cycles = co_await wait_for_cycles(2);
  if (!has_cycles) {
    world_.complain("the coordinator has no eviction cycles, so that nothing can be drained");
    co_return;
  }
  co_await tell_everything();
  world_.begin_drain();
  co_await set_quotas(0);
  const auto deadline = steady::now() + mp_patience;
  while (world_.left_to_drain() > 0 && steady::now() < deadline) co_await service_.nap(std::chrono::milliseconds(20));
  if (world_.left_to_drain() > 0) {
    world_.complain(std::to_string(world_.left_to_drain()) + " keys over the limit were never asked to be deleted");
  }
  co_await tell_everything();
  std::vector<core::owned_object_key> left;
  for (const std::string& salt : world_.model.salts()) {
    for (auto& each : world_.model.order(salt)) left.push_back(std::move(each));
  }
  servers_.front()->report_removals(left);
  co_await tell_everything();
  const bool is_read = co_await compare("after the drain");
  outcome_.was_drained = is_read && world_.model.size() == 0;
}

}  // namespace kvc::sim
