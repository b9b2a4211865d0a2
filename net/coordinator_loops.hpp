// What the fleet coordinator does by itself: sweeping, evicting, and the listing at the start.
#pragma once

#include <chrono>
#include <exception>
#include <functional>
#include <string_view>

#include <boost/asio/awaitable.hpp>

#include "core/resync_fsm.hpp"
#include "net/coordinator_context.hpp"
#include "net/shortage_news.hpp"

namespace kvc::net {

/// Each runs on the home lane until it is cancelled. The context outlives it. (Rules of all: spec coordinator-api, sections 3 and 9.)
/// What is thrown on the way, as for want of memory, costs a loop its round and no more.

/// Drops servers that have fallen silent, once per health check interval.
[[nodiscard]] asio::awaitable<void> sweep_loop(coordinator_context& context);

/// Plans an eviction once per interval, in slices, and sends it to one server, a few pieces at a time. Holds back while the start-up
/// listing goes on.
[[nodiscard]] asio::awaitable<void> eviction_loop(coordinator_context& context);

/// Asks for the page that the machine wants, tells it what came, and answers what it wants then.
using page_asker = std::function<asio::awaitable<core::resync_fsm::action>(coordinator_context&, core::resync_fsm&)>;

/// Lists what lies in the shared storage, from one server after the other until one has told everything, then ends. A page of which nothing
/// comes because something was thrown is a failed one. `ask`: in place of asking over HTTP, for tests.
[[nodiscard]] asio::awaitable<void> resync_once(coordinator_context& context, page_asker ask = {});

/// Carries out `round` once per `interval` until it is cancelled. A round that throws is logged, the first time and then ever more rarely,
/// and the next one is carried out in its time. Home lane. Precondition as for `pause`.
[[nodiscard]] asio::awaitable<void> in_rounds(coordinator_context& context, std::string_view loop,
                                              std::chrono::steady_clock::duration interval, std::function<asio::awaitable<void>()> round);

/// Logs what a loop's round has thrown, unless there was a lot of that lately.
void tell_failed_round(std::string_view loop, const std::exception_ptr& failure, shortage_news& news) noexcept;

/// Whether the coroutine that awaits it has been asked to end.
[[nodiscard]] asio::awaitable<bool> is_asked_to_end();

/// Sleeps. False: the loop shall end. Precondition: the caller lets cancellation pass without throwing.
[[nodiscard]] asio::awaitable<bool> pause(coordinator_context& context, std::chrono::steady_clock::duration how_long);

}  // namespace kvc::net
