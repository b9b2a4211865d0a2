#include "net/coordinator_loops.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include "net/log.hpp"
#include "net/thrown_reason.hpp"

namespace kvc::net {

asio::awaitable<bool> is_asked_to_end() {
  const auto stopping = co_await asio::this_coro::cancellation_state;
  co_return stopping.cancelled() != asio::cancellation_type::none;
}

namespace {
/// A shorter one than that would leave a lane nothing else to do.
constexpr std::chrono::milliseconds shortest_pause{1};
}  // namespace

asio::awaitable<bool> pause(coordinator_context& context, std::chrono::steady_clock::duration how_long) {
  // Who was asked while it did something else is not asked again.
  if (co_await is_asked_to_end()) co_return false;
  asio::steady_timer timer(context.home.context, std::max<std::chrono::steady_clock::duration>(how_long, shortest_pause));
  error_code woken;
  co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, woken));
  const bool shall_end = co_await is_asked_to_end();
  co_return !woken && !shall_end;
}

void tell_failed_round(std::string_view loop, const std::exception_ptr& failure, shortage_news& news) noexcept {
  const auto times = news.on_shortage(std::chrono::steady_clock::now());
  if (!times) return;
  try {
    log::error(log::module::fleet, "a round failed", {{"loop", loop}, {"times", *times}, {"reason", reason_of(failure)}});
  } catch (...) {
    // There is no memory for a line: the next one may have some.
  }
}

asio::awaitable<void> in_rounds(coordinator_context& context, std::string_view loop, std::chrono::steady_clock::duration interval,
                                std::function<asio::awaitable<void>()> round) {
  shortage_news news;
  for (;;) {
    const bool goes_on = co_await pause(context, interval);
    if (!goes_on) co_return;
    std::exception_ptr failure;
    try {
      co_await round();
    } catch (...) {
      failure = std::current_exception();
    }
    // Of one that was interrupted by a stop there is nothing to be told.
    if (co_await is_asked_to_end()) co_return;
    if (failure) tell_failed_round(loop, failure, news);
  }
}

asio::awaitable<void> sweep_loop(coordinator_context& context) {
  co_await asio::this_coro::throw_if_cancelled(false);
  co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
  co_await in_rounds(context, "sweep", as_duration(context.settings.health_check_interval), [&context]() -> asio::awaitable<void> {
    for (const std::string& each : context.tables.servers.sweep(std::chrono::steady_clock::now())) {
      ++context.tables.counters.timed_out;
      log::warn(log::module::fleet, "mp server timed out", {{"instance", each}});
    }
    co_return;
  });
}

}  // namespace kvc::net
