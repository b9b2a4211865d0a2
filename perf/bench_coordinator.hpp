// The pure half of the fleet coordinator, measured without its HTTP: memory per key, events, planning, blend queries.
// All times are CPU time of the measuring thread.
#pragma once

#include "perf/bench_report.hpp"

namespace kvc::perf {

/// Heartbeats of 1,000 servers, calls per second.
void run_coordinator_registry(bench_report& report);

/// 1,000,000 keys of eight ranks under 1,000 salts, in batches of 1,000 events: stores of new keys, of known keys in random order, look-ups
/// and removals per second, the longest batch, and bytes per key, resident and by the store's own account.
void run_coordinator_usage(bench_report& report);

/// An eviction of 400,000 keys of one salt: planning, reading out and releasing, in all and the longest slice, in milliseconds.
void run_coordinator_eviction(bench_report& report);

/// A directory of 1,000,000 chunks of 256 tokens: publishing, bytes per chunk, and prompts of 131,072 tokens, of which nothing or a half is
/// found, in microseconds, and the longest slice of 16,384 offsets.
void run_coordinator_blend(bench_report& report);

}  // namespace kvc::perf
