// Probes for objects of stores: what the table of objects takes, and POST /exist as routers meet it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "perf/bench_report.hpp"
#include "perf/bench_server.hpp"

namespace kvc::perf {

/// Keys of one probe: as many blocks as a prompt of 2,048 tokens in blocks of 16 has, and as many as a master is asked for at once.
inline constexpr std::size_t keys_per_probe = 128;

/// What is asked for.
struct exist_load {
  std::size_t objects = 100'000;  ///< in the store, over HTTP
  std::size_t probes = 200'000;   ///< batches of the rate; latencies take a tenth of them
};

/// The key of an object: 64 hexadecimal digits, as the digests of engines are. The same for the same number.
[[nodiscard]] std::string exist_key(std::size_t number);

/// `objects` with one replica in memory each, in one table: resident bytes per object, the table's own account, and what storing and
/// finding one takes.
void run_exist_memory(std::size_t objects, bench_report& report);

// Each starts a fresh server and a stand-in store in this process, whose publisher tells it of all objects, half of which are on SSD only.
// Rates are told twice, as in bench_coordinator_http.hpp. Both throw std::runtime_error when the server or a probe fails.

/// Probes of random keys without prefetch from 8 connections with 4 in flight each; and one at a time, as latencies.
void run_exist_rate(const bench_server::place& where, const exist_load& load, bench_report& report);

/// One probe at a time, without prefetch and with it, in turns; `prefetch_p99_ratio` compares the two. Promotions go on behind the answers.
void run_exist_prefetch(const bench_server::place& where, const exist_load& load, bench_report& report);

}  // namespace kvc::perf
