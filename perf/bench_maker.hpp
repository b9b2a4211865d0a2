// Makes KVWL workload files: traffic through a fleet of engine caches.
#pragma once

#include <cstdint>
#include <string>

#include <boost/system/result.hpp>

#include "perf/bench_traffic.hpp"
#include "perf/bench_writer.hpp"

namespace kvc::perf {

/// What the requests are.
enum class maker_kind : std::uint8_t { conversations, agents, trace };

/// A workload to make. The ranges are checked by `parse_bench_options`.
struct maker_plan {
  maker_kind kind = maker_kind::conversations;
  std::string out;                      ///< the file to write
  std::uint32_t workers = 64;           ///< engines, at least 1
  std::uint32_t cache_blocks = 16'384;  ///< capacity of one engine, at least 1
  std::uint64_t requests = 100'000;     ///< 0: the whole trace
  std::uint64_t seed = 1;
  bool is_affine = false;  ///< what belongs together goes to one worker; else every request anywhere
  conversation_shape conversations;
  agent_shape agents;
  trace_shape trace;
};

/// What came of it.
struct made_workload {
  written_counts counts;
  std::uint64_t hit_blocks = 0;  ///< queried blocks that the serving worker had
};

/// Makes the file: for every request the query for its prompt, then what serving it stores and evicts on one worker. Engines are
/// `bench_cache`s; sequence hashes are rolled as in the article, XXH3-64 with seed 0. The same plan gives the same bytes on every machine.
/// Progress goes to standard error. Error: a sentence; then there is no file.
[[nodiscard]] boost::system::result<made_workload, std::string> make_workload(const maker_plan& plan);

}  // namespace kvc::perf
