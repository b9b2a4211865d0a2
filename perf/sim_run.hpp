// A whole run, from the flags to the exit code.
#pragma once

#include "perf/sim_options.hpp"

namespace kvc::sim {

/// Sets the fleet up, plays the requests, tells how it went, takes the fleet down. Blocks until done; INT and TERM end it early, a second
/// one at once. Returns the exit code: 0 fine, 1 a difference in a strict run or a run that could not be finished.
[[nodiscard]] int run_simulation(const options& chosen);

}  // namespace kvc::sim
