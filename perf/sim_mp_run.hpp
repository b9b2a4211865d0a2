// `kv-conductor-sim mp` from its flags to the exit code.
#pragma once

#include <string>

#include "perf/sim_mp_fleet.hpp"
#include "perf/sim_mp_options.hpp"

namespace kvc::sim {

/// What is printed at the end. Pure.
[[nodiscard]] std::string mp_summary(const mp_options& chosen, const mp_outcome& outcome);
/// The same for programs. Pure.
[[nodiscard]] std::string mp_summary_json(const mp_options& chosen, const mp_outcome& outcome);

/// Runs a fleet and tells how it went. Returns the exit code: 0 the coordinator agrees, 1 it does not, or the run could not be finished.
[[nodiscard]] int run_mp_fleet(const mp_options& chosen);

}  // namespace kvc::sim
