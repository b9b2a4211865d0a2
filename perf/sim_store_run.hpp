// `kv-conductor-sim store` from its flags to the exit code.
#pragma once

#include "perf/sim_store_options.hpp"

namespace kvc::sim {

/// Runs a store and tells how it went. Returns the exit code: 0 the conductor agrees, 1 it does not, or the run could not be finished.
[[nodiscard]] int run_store(const store_options& chosen);

}  // namespace kvc::sim
