#include "net/eviction_task.hpp"

#include <algorithm>
#include <exception>
#include <vector>

#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "net/evictable.hpp"

namespace kvc::net {
namespace {

using clock = std::chrono::steady_clock;

asio::awaitable<bool> is_cancelled() {
  const asio::cancellation_state now = co_await asio::this_coro::cancellation_state;
  co_return now.cancelled() != asio::cancellation_type::none;
}

/// One lane's share in keeping to the budget. Lane: all on it; outlives its coroutines.
class lane_share {
 public:
  lane_share(lane& home, budget_watch& watch, const eviction_rhythm& rhythm) : home_(home), watch_(watch), rhythm_(rhythm) {}

  [[nodiscard]] core::index_budget& budget() const noexcept { return watch_.budget(); }
  [[nodiscard]] asio::awaitable<bool> work();

 private:
  void take_stock();
  [[nodiscard]] asio::awaitable<bool> make_part(core::eviction_pass& pass);
  [[nodiscard]] asio::awaitable<bool> meet(core::eviction_pass& pass, std::vector<std::weak_ptr<evictable>> busy);

  lane& home_;
  budget_watch& watch_;
  const eviction_rhythm rhythm_;
  clock::time_point next_round_ = clock::now();
};

/// Forgets who has gone, and tells the budget what the others keep.
void lane_share::take_stock() {
  std::size_t bytes = home_.names->bytes_in_use();
  std::size_t waiting = 0;
  std::erase_if(home_.evictables, [&](const std::weak_ptr<evictable>& each) {
    const auto alive = each.lock();
    if (!alive) return true;
    bytes += alive->bytes();
    waiting += alive->waiting_bytes();
    return false;
  });
  budget().note_lane(home_.index(), bytes, waiting);
}

/// This lane's part of a pass, turn by turn. Whoever joins meanwhile is taken along. False when cancelled on the way.
asio::awaitable<bool> lane_share::make_part(core::eviction_pass& pass) {
  std::vector<std::weak_ptr<evictable>> busy;
  std::size_t left = rhythm_.blocks_per_turn;
  for (std::size_t i = 0; i < home_.evictables.size();) {
    if (left == 0) {
      co_await asio::post(asio::use_awaitable);
      if (co_await is_cancelled()) co_return false;
      left = rhythm_.blocks_per_turn;
    }
    const auto each = home_.evictables[i].lock();
    const eviction_part done = each ? each->evict_some(pass, left) : eviction_part::through;
    if (done == eviction_part::more) continue;
    if (done == eviction_part::not_now) busy.push_back(each);
    ++i;
    if (left != 0) --left;  // looking at somebody who holds nothing is work as well
  }
  co_return busy.empty() || co_await meet(pass, std::move(busy));
}

/// Those who were in the middle of a batch, each between two of them: who has always more to do would never be met by chance. They give
/// way to whoever has taken a turn, so that one round of turns per batch is all there is to wait; who takes longer is passed over.
asio::awaitable<bool> lane_share::meet(core::eviction_pass& pass, std::vector<std::weak_ptr<evictable>> busy) {
  const auto until = clock::now() + rhythm_.patience;
  for (;;) {
    co_await home_.turns.next();
    if (co_await is_cancelled()) co_return false;
    std::size_t left = rhythm_.blocks_per_turn;
    std::erase_if(busy, [&](const std::weak_ptr<evictable>& whom) {
      const auto each = whom.lock();
      return !each || (left != 0 && each->evict_some(pass, left) == eviction_part::through);
    });
    if (busy.empty()) co_return true;
    if (clock::now() < until) continue;
    pass.note_passed_over();
    co_return true;
  }
}

/// What there is to do now. False when cancelled on the way.
asio::awaitable<bool> lane_share::work() {
  take_stock();
  if (home_.index() == 0) {
    if (clock::now() >= next_round_) {
      budget().begin_round();
      next_round_ = clock::now() + rhythm_.round;
    }
    watch_.look();
  }
  while (const auto pass = budget().pass_for(home_.index())) {
    if (!co_await make_part(*pass)) co_return false;
    take_stock();
    if (budget().finish(home_.index(), *pass)) watch_.look();
    if (pass->blocks() == 0) break;  // whoever has not come to it yet needs time more than another pass
    co_await asio::post(asio::use_awaitable);
    if (co_await is_cancelled()) co_return false;
  }
  co_return true;
}

/// Until it is time for the next look. True when cancelled meanwhile.
asio::awaitable<bool> rest(asio::steady_timer& pause, std::chrono::milliseconds how_long) {
  boost::system::error_code woken;
  pause.expires_after(how_long);
  co_await pause.async_wait(asio::redirect_error(asio::use_awaitable, woken));
  co_return co_await is_cancelled();
}

}  // namespace

asio::awaitable<void> keep_within_budget(lane& home, std::shared_ptr<budget_watch> watch, eviction_rhythm rhythm) {
  co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
  co_await asio::this_coro::throw_if_cancelled(false);
  asio::steady_timer pause(home.context);
  lane_share share(home, *watch, rhythm);
  for (;;) {
    // Something thrown is told, and costs no more than what it was about: the index has to keep within its budget after it as well. Also to
    // wait or to begin takes memory.
    try {
      if (co_await rest(pause, share.budget().is_evicting() ? rhythm.busy_pause : rhythm.idle_pause)) co_return;
      if (!co_await share.work()) co_return;
    } catch (const std::exception& failed) {
      watch->note_failure(home.index(), failed.what());
    }
  }
}

}  // namespace kvc::net
