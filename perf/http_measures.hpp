// The measurements of `kv-conductor-bench http`. Each starts a server of its own.
#pragma once

#include <functional>
#include <string>

#include "perf/bench_report.hpp"
#include "perf/bench_server.hpp"
#include "perf/http_plan.hpp"
#include "perf/ingest_frames.hpp"

namespace kvc::perf {

/// Told what is being measured, for who waits.
using http_news = std::function<void(const std::string&)>;

/// All workloads of the plan against a filled index on which nothing happens meanwhile, and nginx beside `healthz` if wanted. Figures,
/// behind the workload's name: `closed_per_s`, `closed_per_cpu_s` (by the CPU time the server used), `closed_cpu_share` and `closed_ns_*`;
/// at an offered rate `at_N_percent_*` or `open_*`: `offered_per_s`, `achieved_per_s`, `ns_p50` ... and
/// `server_waited_percent`, the time its threads were ready and had no CPU. nginx answers at the same rates, too: `nginx_as_*`. Throws
/// std::runtime_error when an answer is not 200 or the index does not hold what the engines do.
void measure_http_quiet(const http_load_plan& plan, const bench_server::place& where, const ingest_frames& frames, const http_news& tell,
                        bench_report& into);

/// `query_by_hash` at `rate` while the plan's blocks per second are ingested on the same lane: `beside_*` as above, and
/// `beside_blocks_per_s`, what was applied meanwhile.
void measure_http_beside(const http_load_plan& plan, const bench_server::place& where, const ingest_frames& frames, double rate,
                         bench_report& into);

}  // namespace kvc::perf
