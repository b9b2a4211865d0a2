#include "net/coordinator_loops.hpp"

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include "net/log.hpp"

namespace kvc::net {

asio::awaitable<bool> pause(coordinator_context& context, std::chrono::steady_clock::duration how_long) {
  asio::steady_timer timer(context.home.context, how_long);
  error_code woken;
  co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, woken));
  const auto stopping = co_await asio::this_coro::cancellation_state;
  co_return !woken && stopping.cancelled() == asio::cancellation_type::none;
}

asio::awaitable<void> sweep_loop(coordinator_context& context) {
  co_await asio::this_coro::throw_if_cancelled(false);
  co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
  for (;;) {
    const bool goes_on = co_await pause(context, as_duration(context.settings.health_check_interval));
    if (!goes_on) co_return;
    for (const std::string& each : context.tables.servers.sweep(std::chrono::steady_clock::now())) {
      ++context.tables.counters.timed_out;
      log::warn(log::module::fleet, "mp server timed out", {{"instance", each}});
    }
  }
}

}  // namespace kvc::net
