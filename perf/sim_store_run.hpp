// `kv-conductor-sim store` from its flags to the exit code.
#pragma once

#include <string>

#include "perf/sim_store_options.hpp"
#include "perf/sim_store_play.hpp"

namespace kvc::sim {

/// What is printed at the end. Pure.
[[nodiscard]] std::string store_summary(const store_options& chosen, const store_outcome& outcome);
/// The same for programs. Pure.
[[nodiscard]] std::string store_summary_json(const store_options& chosen, const store_outcome& outcome);

/// Runs a store and tells how it went. Returns the exit code: 0 the conductor agrees, 1 it does not, or the run could not be finished.
[[nodiscard]] int run_store(const store_options& chosen);

}  // namespace kvc::sim
