// From publishing to queryable, as a client of the server sees it.
#pragma once

#include "perf/bench_report.hpp"
#include "perf/bench_server.hpp"
#include "perf/e2e_plan.hpp"
#include "perf/ingest_frames.hpp"

namespace kvc::perf {

/// Publishes the frames at the plan's rate and asks GET /services again and again which batches are applied. `lag_ns_*`: from the moment a
/// batch was due to the answer that tells of it, so a request is in it; of the last three quarters of the batches. `lag_looks_per_s` tells
/// how often was asked. Throws std::runtime_error.
void measure_e2e_lag(const e2e_plan& plan, const bench_server::place& where, const ingest_frames& frames, bench_report& into);

}  // namespace kvc::perf
