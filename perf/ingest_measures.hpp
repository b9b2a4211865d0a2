// The measurements of `kv-conductor-bench ingest`. Each forks its publishers and must be called in a process of its own, which it may pin.
#pragma once

#include "perf/bench_report.hpp"
#include "perf/ingest_frames.hpp"
#include "perf/ingest_plan.hpp"

namespace kvc::perf {

/// `idle_streams` registered and heard once, then two stretches of silence: the server's CPU as a share of one core, and resident bytes per
/// stream (anonymous memory of the server; the kernel's buffers are not in it).
[[nodiscard]] bench_report measure_ingest_idle(const ingest_plan& plan);

/// What is done with the frames.
struct ingest_rate {
  const ingest_dialect* dialect = nullptr;
  double blocks_per_s = 0;         ///< offered; 0: as fast as it goes
  std::uint32_t batch_weight = 0;  ///< see `ingest_schedule`
  bool is_discarded = false;       ///< thrown away
};

/// All frames through the intake. Figures: `blocks_per_s`, `stored_per_s`, `cpu_ns_per_block` (of the server, transport included) and
/// `cpu_share`; at an offered rate `lag_ns_*`, from the moment each batch was due to its blocks being found, of the last three quarters of
/// the batches, and `growing_lag_ns_*` of the first, in which the index takes its memory from the system. Both only of forms that have
/// their time as a double. Throws when the index does not hold what the engines do.
[[nodiscard]] bench_report measure_ingest_rate(const ingest_plan& plan, const ingest_frames& frames, const ingest_rate& how);

/// A publisher with a history, heard for the first time: `replay_s` from its being asked to the last batch in the index.
[[nodiscard]] bench_report measure_ingest_replay(const ingest_plan& plan, const ingest_frames& history);

/// Queries of 4,096 tokens at the plan's rate: while frames come as fast as they go, from the second quarter on, `busy_query_ns_*`; and
/// afterwards, when nothing comes, `idle_query_ns_*`.
[[nodiscard]] bench_report measure_ingest_queries(const ingest_plan& plan, const ingest_frames& frames);

}  // namespace kvc::perf
