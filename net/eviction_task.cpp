#include "net/eviction_task.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "net/evictable.hpp"
#include "net/log.hpp"

namespace kvc::net {
namespace {

using clock = std::chrono::steady_clock;

asio::awaitable<bool> is_cancelled() {
  const asio::cancellation_state now = co_await asio::this_coro::cancellation_state;
  co_return now.cancelled() != asio::cancellation_type::none;
}

/// Forgets who has gone, and tells the budget what the others keep.
void take_stock(lane& home, core::index_budget& budget) {
  std::size_t bytes = home.names->bytes_in_use();
  std::size_t waiting = 0;
  std::erase_if(home.evictables, [&](const std::weak_ptr<evictable>& each) {
    const auto alive = each.lock();
    if (!alive) return true;
    bytes += alive->bytes();
    waiting += alive->waiting_bytes();
    return false;
  });
  budget.note_lane(home.index(), bytes, waiting);
}

void look(core::index_budget& budget) {
  const auto news = budget.look();
  if (news == core::index_budget::news::none) return;
  const auto totals = budget.so_far();
  switch (news) {
    case core::index_budget::news::none:
      break;
    case core::index_budget::news::begins:
      log::info(log::module::stream, "index over its budget, evicting", {{"budget_bytes", budget.bytes()}, {"used_bytes", budget.used()}});
      break;
    case core::index_budget::news::ends:
      log::info(
          log::module::stream, "index within its budget again",
          {{"budget_bytes", budget.bytes()}, {"used_bytes", budget.used()}, {"evicted_blocks", totals.blocks}, {"passes", totals.passes}});
      break;
    case core::index_budget::news::gives_up:
      log::warn(
          log::module::stream, "index over its budget, nothing left to evict",
          {{"budget_bytes", budget.bytes()}, {"used_bytes", budget.used()}, {"evicted_blocks", totals.blocks}, {"passes", totals.passes}});
      break;
  }
}

/// This lane's part of a pass, turn by turn. Whoever joins meanwhile is taken along. False when cancelled on the way.
asio::awaitable<bool> make_part(lane& home, core::eviction_pass& pass, std::size_t blocks_per_turn) {
  std::size_t left = blocks_per_turn;
  for (std::size_t i = 0; i < home.evictables.size();) {
    if (left == 0) {
      co_await asio::post(asio::use_awaitable);
      if (co_await is_cancelled()) co_return false;
      left = blocks_per_turn;
    }
    const auto each = home.evictables[i].lock();
    if (!each || each->evict_some(pass, left)) {
      ++i;
      if (left != 0) --left;  // looking at somebody who holds nothing is work as well
    }
  }
  co_return true;
}

}  // namespace

asio::awaitable<void> keep_within_budget(lane& home, std::shared_ptr<core::index_budget> budget, eviction_rhythm rhythm) {
  co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
  co_await asio::this_coro::throw_if_cancelled(false);
  const bool is_control = home.index() == 0;
  asio::steady_timer pause(home.context);
  auto next_round = clock::now();
  for (;;) {
    boost::system::error_code woken;
    pause.expires_after(budget->is_evicting() ? rhythm.busy_pause : rhythm.idle_pause);
    co_await pause.async_wait(asio::redirect_error(asio::use_awaitable, woken));
    if (co_await is_cancelled()) co_return;
    take_stock(home, *budget);
    if (is_control) {
      if (clock::now() >= next_round) {
        budget->begin_round();
        next_round = clock::now() + rhythm.round;
      }
      look(*budget);
    }
    while (const auto pass = budget->pass_for(home.index())) {
      if (!co_await make_part(home, *pass, rhythm.blocks_per_turn)) co_return;
      take_stock(home, *budget);
      if (budget->finish(home.index(), *pass)) look(*budget);
      co_await asio::post(asio::use_awaitable);
      if (co_await is_cancelled()) co_return;
    }
  }
}

}  // namespace kvc::net
