// A rank's batches as the bytes vLLM would send.
#pragma once

#include <string>

#include "core/event.hpp"
#include "perf/sim_options.hpp"

namespace kvc::sim {

/// Appends the MessagePack payload of a batch: `[timestamp, events, rank]`, each event positional or a tagged map.
/// (Source of fields and their order: vLLM as of May 2026 for arrays, June 2026 on for maps; kv-events.md section 2.)
/// Preconditions: stored and removed events on the device only, as the simulated engines tell. Pure.
void encode_batch(const core::event_batch& batch, event_form events, hash_form hashes, std::string& out);

}  // namespace kvc::sim
