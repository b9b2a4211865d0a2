// A task that its lane must not be without.
#pragma once

#include <functional>
#include <string>

#include <boost/asio/awaitable.hpp>

#include "net/runtime.hpp"

namespace kvc::net {

/// Spawns what `make` makes, and spawns it anew when it was lost.
///
/// Problem: Asio drops a coroutine whose next operation finds no memory to begin, and tells nobody but its owner (see task_scope): a loop
/// that keeps something within bounds would be gone for good, at the very moment that memory is short. Story: whatever is dropped is made
/// and spawned again, for which the memory is kept; what ends by itself, or throws anything but std::bad_alloc, has ended. Nothing is begun
/// once the lane's tasks are told to leave. Lifetimes: what `make` refers to outlives the lane's tasks. Lane: `home`.
void spawn_lasting(lane& home, std::string name, std::function<boost::asio::awaitable<void>()> make);

}  // namespace kvc::net
