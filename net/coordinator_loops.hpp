// What the fleet coordinator does by itself: sweeping, evicting, and the listing at the start.
#pragma once

#include <boost/asio/awaitable.hpp>

#include "net/coordinator_context.hpp"

namespace kvc::net {

/// Each runs on the home lane until it is cancelled. The context outlives it. (Rules of all: spec coordinator-api, sections 3 and 9.)

/// Drops servers that have fallen silent, once per health check interval.
[[nodiscard]] asio::awaitable<void> sweep_loop(coordinator_context& context);

/// Plans an eviction once per interval, in slices, and sends it to one server, a few pieces at a time. Holds back while the start-up
/// listing goes on.
[[nodiscard]] asio::awaitable<void> eviction_loop(coordinator_context& context);

/// Lists what lies in the shared storage, from one server after the other until one has told everything, then ends.
[[nodiscard]] asio::awaitable<void> resync_once(coordinator_context& context);

/// Sleeps. False: the loop shall end. Precondition: the caller lets cancellation pass without throwing.
[[nodiscard]] asio::awaitable<bool> pause(coordinator_context& context, std::chrono::steady_clock::duration how_long);

}  // namespace kvc::net
