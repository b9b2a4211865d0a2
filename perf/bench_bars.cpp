#include "perf/bench_bars.hpp"

#include <array>

namespace kvc::perf {
namespace {

constexpr double to_us = 1e-3;

// Set from what the best known designs reach on one machine; see README.md, "The index benchmark".
constexpr std::array all_bars{
    bench_bar{"M1 events per block", "m1", "sequential", "event_touches", 1, "touch", 2.0, 1.2},
    bench_bar{"M3 events per block (16 workers, 16-token blocks)", "m3", "sequential", "event_touches", 1, "touch", 1.5, 0.7},
    bench_bar{"M4 events per block (1,024 workers)", "m4", "sequential", "event_touches", 1, "touch", 3.5, 2},
    bench_bar{"S64 events per block", "s64", "sequential", "event_touches", 1, "touch", 6, 2},
    bench_bar{"S256 events per block", "s256", "sequential", "event_touches", 1, "touch", 7, 3},
    bench_bar{"M1 query, mean", "m1", "sequential", "query_mean_misses", 1, "miss", 2.2, 1.3},
    bench_bar{"M1 query, p99", "m1", "sequential", "query_p99_misses", 1, "miss", 11, 7},
    bench_bar{"M4 query, mean", "m4", "sequential", "query_mean_misses", 1, "miss", 5, 3},
    bench_bar{"S256 query, mean", "s256", "sequential", "query_mean_misses", 1, "miss", 3, 1.8},
    bench_bar{"S256 query, p99", "s256", "sequential", "query_p99_misses", 1, "miss", 10, 6},
    bench_bar{"query 16,384 deep, 16 workers, hot", "", "deep", "deep_hot_ns_mean", to_us, "us", 2.4, 1.5},
    bench_bar{"query 16,384 deep, 16 workers, cold", "", "deep", "deep_cold_ns_mean", to_us, "us", 6, 2.5},
    // The bar's microseconds on the machine they were set on, where one such comparison took 0.5 to 0.7 ns: the strictest of that.
    bench_bar{"the same, against comparing as many hashes out of cache", "", "deep", "deep_cold_compares", 1, "x", 0.52, 0.22},
    bench_bar{"the same, but for the first time of each chain", "", "deep", "deep_cold_again_ns_mean", to_us, "us", 6, 2.5},
    bench_bar{"the same, all rounds, questions on large pages", "", "deep", "deep_cold_paged_ns_mean", to_us, "us", 6, 2.5},
    bench_bar{"the same, the question just hashed", "", "deep", "deep_just_hashed_ns_mean", to_us, "us", 6, 2.5},
    bench_bar{"query of 1,024 workers at 1,024 depths, stored whole", "", "ragged", "ragged_ns_mean", to_us, "us", 5, 2},
    bench_bar{"the same, grown in turn", "", "ragged", "ragged_grown_ns_mean", to_us, "us", 5, 2},
    bench_bar{"query of 1,024 workers forking off a chain", "", "fork", "fork_ns_mean", to_us, "us", 40, 10},
    bench_bar{"the same, trunk grown by them", "", "fork", "fork_grown_ns_mean", to_us, "us", 40, 10},
    bench_bar{"query after 3,840 holes healed, against before", "", "holes", "healed_ratio", 1, "x", 1.2, 1.0},
    bench_bar{"M1 writer beside a reader, against alone", "m1", "saturation", "writer_ratio", 1, "x", 1.25, 1.1},
    bench_bar{"M1 reader beside a writer, p99", "m1", "saturation", "query_p99_misses", 1, "miss", 6, 4},
    bench_bar{"M1 two writer lanes, against one", "m1", "lanes", "speed_up", 1, "x", 1.7, 1.9, true},
    bench_bar{"memory, 1,024 workers, nothing shared", "", "sharing", "own_chains_bytes_per_entry", 1, "bytes/entry", 32, 24},
    bench_bar{"memory, 128 workers, everything shared", "", "sharing", "shared_chains_bytes_per_entry", 1, "bytes/entry", 5, 1},
    bench_bar{"memory, M1 after churn", "m1", "memory", "bytes_per_entry", 1, "bytes/entry", 40, 28},
    bench_bar{"worst store while a block gets 1,000,000 children", "", "wide", "store_ns_max", to_us, "us", 200, 50},
    bench_bar{"the same, CPU it used", "", "wide", "store_ns_cpu_max", to_us, "us", 200, 50},
    bench_bar{"the same store by store, each by the least of nine runs, no reader beside", "", "least", "least_store_ns_max", to_us, "us",
              200, 50},
    bench_bar{"worst query meanwhile", "", "wide", "reader_ns_max", to_us, "us", 200, 50},
    bench_bar{"the same, CPU it used", "", "wide", "reader_ns_cpu_max", to_us, "us", 200, 50},
    bench_bar{"a query after each store, each by the least of nine runs", "", "least", "least_query_ns_max", to_us, "us", 200, 50},
    bench_bar{"worst wait of threads that do nothing but look at the clock", "", "wide", "nothing_ns_max", to_us, "us", 200, 50},
    bench_bar{"workers in one partition, all answers exact", "", "workers", "workers_exact", 1, "workers", 16'384, 65'536, true},
};

constexpr std::array all_standards{
    bench_standard{"m1", 12'185'978, 106'219'864},  bench_standard{"m2", 12'181'485, 102'793'527},
    bench_standard{"m3", 384'452, 13'276'909},      bench_standard{"m4", 256'206'755, 2'067'357'329},
    bench_standard{"s64", 12'795'689, 821'262'056}, bench_standard{"s256", 153'537'644, 9'833'532'462},
};

}  // namespace

std::span<const bench_bar> bench_bars() noexcept {
  return all_bars;
}
std::span<const bench_standard> bench_standards() noexcept {
  return all_standards;
}

}  // namespace kvc::perf
