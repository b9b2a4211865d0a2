// `kv-conductor-bench codec`: what decoding costs, in every form of events.
#pragma once

#include "perf/bench_report.hpp"
#include "perf/micro_plan.hpp"

namespace kvc::perf {

/// Decodes batches of each form, one after the other, in cache. The blocks are the same in every form that can tell of them: 64 stored
/// behind a parent, with their tokens, and eight evicted one by one; stores tell of 16 objects. Figures behind the name of the form:
/// `bytes`, `events` and `blocks` of the batch; nanoseconds per event and per block to `decode` it into events, to `scan` it (our reader
/// alone, its tape thrown away), to `library` (msgpack-c, its tree thrown away), and to `copy` its bytes, which is receiving and throwing
/// away without a socket. Throws std::runtime_error when a decoder refuses what the writer wrote.
[[nodiscard]] bench_report measure_codec(const micro_plan& plan);

}  // namespace kvc::perf
