// `kv-conductor-bench e2e` and `soak`: fleets of simulated engines against the real server.
#pragma once

#include <string>

#include <boost/system/result.hpp>

#include "perf/bench_summary.hpp"
#include "perf/e2e_plan.hpp"

namespace kvc::perf {

/// Plays the same requests through the same engines once per way of routing, each against a server of its own; then a strict run; then
/// measures how long it takes from publishing to being told by the server as applied. Figures: `conductor_*`, `round_robin_*`, `random_*`:
/// `saved_percent` of the prompt tokens, `saved_tokens`, `agreement_percent` of the rows answered while events were under way,
/// `query_us_p50`, `_p99`, `requests_per_s`; `strict_answers` and `strict_differences`; `lag_ns_*` and `lag_blocks_per_s`.
/// Progress goes to standard error. No other thread may be running. Error: a sentence.
[[nodiscard]] boost::system::result<bench_summary, std::string> run_e2e(const e2e_plan& plan);

/// The page of figures, in Markdown; asks the system about the machine.
[[nodiscard]] std::string e2e_page(const bench_summary& measured, const e2e_plan& plan, const std::string& command);

/// Seeded chaos against a server of its own for the minutes of the plan, news on standard output. True: every answer was right or said to
/// be incomplete, the server's memory was flat by its samples after the first half, and it stopped when it was asked to. Throws
/// std::runtime_error when there is no server.
[[nodiscard]] bool run_soak(const soak_plan& plan);

}  // namespace kvc::perf
