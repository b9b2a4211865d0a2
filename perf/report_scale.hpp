// The scale model: what one node carries, and how many nodes a fleet needs.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "perf/bench_report.hpp"
#include "perf/report_plan.hpp"

namespace kvc::perf {

/// What things cost, as measured.
struct scale_costs {
  double block_ns = 0;        ///< CPU of an event block, transport included
  double query_ns = 0;        ///< CPU of a /query_by_hash of 128 hashes that is answered with 64 rows
  double entry_bytes = 0;     ///< memory of a (worker, block) pair that nobody shares
  double stream_bytes = 0;    ///< memory of a stream
  double stream_idle_ns = 0;  ///< CPU of a stream on which nothing happens, per second
};

/// From figures of `ingest`, `http` and the report's own; 0 where one is missing.
[[nodiscard]] scale_costs costs_of(const bench_report& ingest, const bench_report& http, const bench_report& shapes);

/// What can run out.
enum class scale_limit : std::uint8_t { memory, events, queries, streams };
[[nodiscard]] std::string_view to_string(scale_limit limit) noexcept;

/// A fleet on nodes like the plan's.
struct scale_answer {
  std::uint64_t engines = 0;
  std::uint64_t nodes = 0;
  scale_limit bottleneck = scale_limit::memory;
  std::array<double, 4> of_node{};  ///< by limit: the share of what a node may use that is used
};

/// Half of a node's CPU and four fifths of its memory may be used; a partition of an index takes 65,536 workers.
///
/// Engines are divided among the nodes, so that events, streams and memory are. A query goes to every node, because any of them may hold
/// the longest prefix; answers do not grow with the fleet, as routers of large fleets ask for the best rows (`top_k`). Where the queries
/// alone fill a node, groups of nodes hold the same, and queries are divided among the groups. Pure.
[[nodiscard]] scale_answer scale_to(std::uint64_t engines, const scale_costs& costs, const report_plan& plan);

/// Engines that one node carries: the most for which `scale_to` answers one node. Pure.
[[nodiscard]] std::uint64_t engines_of_one_node(const scale_costs& costs, const report_plan& plan);

/// CPU, as a share of one core, that a server would use by the model.
[[nodiscard]] double predicted_cpu(const scale_costs& costs, double blocks_per_s, double queries_per_s) noexcept;

}  // namespace kvc::perf
