// Compares how the members of each partition name their blocks, now and then, and says where they can never match.
#pragma once

#include <chrono>

#include <boost/asio/awaitable.hpp>

#include "core/published.hpp"
#include "net/fleet_service.hpp"
#include "net/runtime.hpp"

namespace kvc::net {

/// Compares every `rhythm`, some dozen members at a time, and logs each change of what is found. What is found stands in each service's
/// `recipe`. Something thrown, for want of memory, costs a round and is logged. Lane: `home`, whose other work gets its turns in between;
/// ends when that lane's tasks are cancelled. Lifetimes: `home` and `fleet` outlive it.
[[nodiscard]] asio::awaitable<void> watch_recipes(lane& home, const core::published<fleet_view>& fleet, std::chrono::milliseconds rhythm);

}  // namespace kvc::net
