// Keeps the index within its byte budget: each lane's part, now and then and in bounded turns.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>

#include <boost/asio/awaitable.hpp>

#include "net/budget_watch.hpp"
#include "net/runtime.hpp"

namespace kvc::net {

/// How a lane goes about it.
struct eviction_rhythm {
  std::size_t blocks_per_turn = 4'096;        ///< looked at or let go of before other work of the lane gets a turn
  std::chrono::milliseconds round{1'000};     ///< how finely uses are told apart by age
  std::chrono::milliseconds idle_pause{100};  ///< between looks at the budget
  std::chrono::milliseconds busy_pause{5};    ///< while blocks are going
  std::chrono::milliseconds patience{1'000};  ///< with streams in the middle of a batch, in one pass
};

/// Works until it is cancelled, by either type. To be spawned once on each lane; lane 0 keeps the rounds and looks at the budget, whoever
/// is last through a pass looks as well. What is thrown on the way, for want of memory, is logged, and the work goes on after a pause.
/// Deadlines: it waits for its timer and for turns only. Lifetimes: the lane and what the budget refers to outlive the task.
[[nodiscard]] asio::awaitable<void> keep_within_budget(lane& home, std::shared_ptr<budget_watch> watch, eviction_rhythm rhythm);

}  // namespace kvc::net
