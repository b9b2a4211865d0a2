#include "perf/report_scale.hpp"

#include <algorithm>
#include <cmath>

namespace kvc::perf {
namespace {

constexpr double usable_cpu = 0.5;     // where latencies are still those of a server at half load
constexpr double usable_memory = 0.8;  // the rest is for bodies, sockets in the kernel, and growth between two evictions
constexpr double most_workers = 65'536;
constexpr double bytes_of_gib = 1024.0 * 1024.0 * 1024.0;

struct demand {
  double memory = 0;  ///< nodes that it takes if there were nothing else, engines divided among them
  double events = 0;
  double streams = 0;
  double queries = 0;  ///< of one node's usable CPU, if it had to answer all
};

demand demand_of(double engines, const scale_costs& costs, const report_plan& plan) {
  const double cpu_ns = plan.cores * 1e9 * usable_cpu;
  const double memory = plan.memory_gib * bytes_of_gib * usable_memory;
  demand of;
  of.memory = engines * (plan.engine_blocks * costs.entry_bytes + costs.stream_bytes) / memory;
  of.events = engines * (plan.engine_events * costs.block_ns + costs.stream_idle_ns) / cpu_ns;
  of.streams = engines / most_workers;
  of.queries = engines * plan.engine_queries * costs.query_ns / cpu_ns;
  return of;
}

}  // namespace

scale_costs costs_of(const bench_report& ingest, const bench_report& http, const bench_report& shapes) {
  scale_costs costs;
  // At half load, as nodes are to be used: batches that come one by one cost more than those that wait in a queue.
  costs.block_ns = ingest.find("half_cpu_ns_per_block").value_or(ingest.find("ingest_cpu_ns_per_block").value_or(0));
  // So are requests.
  for (const char* figure : {"query_by_hash_closed_per_cpu_s", "query_by_hash_at_50_percent_per_cpu_s"}) {
    if (const auto rate = http.find(figure); rate && *rate > 0) costs.query_ns = 1e9 / *rate;
  }
  for (const bench_figure& each : shapes.figures()) {
    // The last is of the largest fleet: in a small index the fixed parts weigh more than the entries.
    if (each.name.starts_with("memory_0_")) costs.entry_bytes = each.value;
  }
  costs.stream_bytes = ingest.find("idle_bytes_per_stream").value_or(0);
  const double streams = ingest.find("idle_streams").value_or(0);
  if (streams > 0) costs.stream_idle_ns = ingest.find("idle_cpu_percent").value_or(0) * 1e7 / streams;
  return costs;
}

std::string_view to_string(scale_limit limit) noexcept {
  switch (limit) {
    case scale_limit::memory: return "memory";
    case scale_limit::events: return "CPU for events";
    case scale_limit::queries: return "CPU for queries";
    case scale_limit::streams: return "workers of a partition";
  }
  return "";
}

scale_answer scale_to(std::uint64_t engines, const scale_costs& costs, const report_plan& plan) {
  const demand of = demand_of(static_cast<double>(engines), costs, plan);
  // n nodes in g groups: a node has g/n of the engines and 1/g of the queries. The fewest nodes over all numbers of groups.
  scale_answer best;
  best.engines = engines;
  const auto most_groups = static_cast<std::uint64_t>(std::ceil(of.queries)) + 1;
  for (std::uint64_t groups = 1; groups <= most_groups * 2; ++groups) {
    const auto g = static_cast<double>(groups);
    const double left = 1 - of.queries / g;  // of a node's CPU, for events
    if (left < 0 || (left == 0 && of.events > 0)) continue;
    const double for_events = of.events > 0 ? of.events / left : 0;
    const double members = std::max({1.0, std::ceil(of.memory - 1e-9), std::ceil(of.streams - 1e-9), std::ceil(for_events - 1e-9)});
    const auto nodes = static_cast<std::uint64_t>(members) * groups;
    if (best.nodes != 0 && nodes >= best.nodes) continue;
    best.nodes = nodes;
    best.of_node = {of.memory / members, of.events / members, of.queries / g, of.streams / members};
  }
  const auto fullest = std::ranges::max_element(best.of_node);
  best.bottleneck = static_cast<scale_limit>(fullest - best.of_node.begin());
  return best;
}

std::uint64_t engines_of_one_node(const scale_costs& costs, const report_plan& plan) {
  std::uint64_t least = 0;
  std::uint64_t most = 1'000'000;
  while (least + 1 < most) {
    const std::uint64_t middle = (least + most) / 2;
    (scale_to(middle, costs, plan).nodes <= 1 ? least : most) = middle;
  }
  return least;
}

double predicted_cpu(const scale_costs& costs, double blocks_per_s, double queries_per_s) noexcept {
  return (blocks_per_s * costs.block_ns + queries_per_s * costs.query_ns) / 1e9;
}

}  // namespace kvc::perf
