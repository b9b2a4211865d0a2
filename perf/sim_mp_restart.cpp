// A coordinator that ends in the middle of a run of stand-in MP servers, and another one in its place.
#include <exception>
#include <string>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "perf/sim_mp_fleet.hpp"

namespace kvc::sim {

/// Between two turns, so that it is certain which of two coordinators was told what.
asio::awaitable<void> mp_fleet::restart_coordinator() {
  // Counted before it goes as well: whatever breaks from now on has this reason. Servers go on answering the old one meanwhile.
  ++world_.coordinator_changes;
  asio::thread_pool aside(1);
  std::string wrong = co_await asio::co_spawn(
      aside,
      [this]() -> asio::awaitable<std::string> {
        try {
          restarts_.restart();
        } catch (const std::exception& failure) {
          co_return failure.what();
        }
        co_return std::string();
      },
      asio::use_awaitable);
  if (!wrong.empty()) {
    world_.complain("the coordinator does not come back: " + wrong);
    world_.is_stopping = true;
    co_return;
  }
  // What the old one listed and deleted until it ended means nothing to the new one, which knows no server yet that it could ask.
  world_.meet_coordinator();
  for (const auto& each : servers_) each->lose_delayed();
  co_await set_quotas(chosen_quota_gb());
}

}  // namespace kvc::sim
