// The fleet coordinator as its clients meet it: the real server on one CPU, load over loopback from another.
#pragma once

#include "perf/bench_report.hpp"
#include "perf/bench_server.hpp"

namespace kvc::perf {

// Each starts a fresh server. Rates are told twice: `_per_s` by the clock, which is the bar on a machine of its own, and `_per_cpu_s` by
// the CPU time the server has used, which other people's load does not spoil. All throw std::runtime_error when the server or a request
// fails.

/// 64 instances: heartbeats from 16 connections with 16 in flight each; and one at a time, as latencies.
void run_http_registry(const bench_server::place& where, bench_report& report);

/// 1,000,000 keys of eight ranks under 1,000 salts in batches of 1,000 stores: new, then known in random order; resident bytes of the
/// process; GET /quota.
void run_http_usage(const bench_server::place& where, bench_report& report);

/// 400,000 keys of one salt whose quota becomes 0: the longest heartbeat until the last key was sent.
void run_http_eviction(const bench_server::place& where, bench_report& report);

/// 1,000,000 chunks of 256 tokens, 32 a request; then prompts of 131,072 tokens, alone and beside heartbeats.
void run_http_blend(const bench_server::place& where, bench_report& report);

}  // namespace kvc::perf
