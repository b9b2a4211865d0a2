#include "perf/sim_store_cluster.hpp"

#include <algorithm>
#include <chrono>

#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace kvc::sim {

namespace asio = boost::asio;

store_cluster::store_cluster(const store_options& chosen) : lanes_(1, catalog_), world_(lanes_.at(0), engine_, chosen) {
  for (std::uint32_t i = 0; i < chosen.masters; ++i) masters_.push_back(std::make_unique<store_master>(world_, i));
}

store_cluster::~store_cluster() {
  stop();
}

std::string store_cluster::open() {
  for (const auto& each : masters_) {
    std::string wrong = each->open(lanes_);
    if (!wrong.empty()) return wrong;
  }
  for (const auto& each : world_.publishers) {
    endpoints_.push_back(each->endpoint());
    replay_endpoints_.push_back(each->replay_endpoint());
  }
  lanes_.start(false);
  is_open_ = true;
  at_home([this](store_world& world) {
    fill();
    world.home.tasks.spawn("store", tend());
    for (const auto& each : world.publishers) world.home.tasks.spawn("store replays", each->serve_replays());
  });
  return {};
}

bool store_cluster::stop() {
  if (!is_open_) return true;
  is_open_ = false;
  at_home([](store_world& world) {
    world.is_quiet = true;
    world.release.cancel();
  });
  return lanes_.stop(store_patience);
}

void store_cluster::fill() {
  for (std::uint64_t i = 0; i < world_.chosen.objects; ++i) {
    auto made = world_.new_object();
    const bool with_disk = world_.random.unit() < world_.chosen.disk_share;
    // What has no room is not there; with a store that evicts only unleased objects there is always some.
    static_cast<void>(world_.storage.put(made.key, world_.chosen.object_bytes, world_.now(), with_disk, std::move(made.block)));
  }
}

/// Ends promotions when they are due, and tells of it. What: a loop. Cancellation: total and terminal end it at the next wait.
asio::awaitable<void> store_cluster::tend() {
  constexpr std::chrono::milliseconds most{20};
  co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
  co_await asio::this_coro::throw_if_cancelled(false);
  asio::steady_timer timer(world_.home.context);
  for (;;) {
    const auto now = world_.now();
    const auto due = world_.storage.next_due().value_or(now + most);
    timer.expires_after(std::clamp(due - now, std::chrono::milliseconds(1), most));
    boost::system::error_code woken;
    co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, woken));
    const auto state = co_await asio::this_coro::cancellation_state;
    if (state.cancelled() != asio::cancellation_type::none) co_return;
    world_.storage.advance(world_.now());
    world_.tell();
  }
}

}  // namespace kvc::sim
