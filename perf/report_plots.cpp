#include "perf/report_plots.hpp"

#include <algorithm>
#include <array>

#include "perf/http_plan.hpp"
#include "perf/report_shapes.hpp"

namespace kvc::perf {
namespace {

void add_point(plot_series& to, const bench_report& from, double x, const std::string& figure, double scale = 1) {
  if (const auto value = from.find(figure)) to.points.emplace_back(x, *value / scale);
}

plot throughput(const report_source& from) {
  plot made{.title = "Event blocks: offered and achieved, one lane on one core", .note = from.note};
  made.x = {.label = "offered, blocks/s"};
  made.y = {.label = "achieved, blocks/s"};
  plot_series achieved{.name = "achieved"};
  plot_series ideal{.name = "everything offered", .is_dashed = true};
  for (const int percent : {25, 50, 75, 90, 100, 110}) {
    const std::string name = "at_" + std::to_string(percent) + "_percent_";
    const auto offered = from.figures.find(name + "offered_per_s");
    if (!offered) continue;
    add_point(achieved, from.figures, *offered, name + "blocks_per_s");
    ideal.points.emplace_back(*offered, *offered);
  }
  const plot_mark spot = saturation_of(achieved);
  if (spot.x > 0) made.marks.push_back(spot);
  made.series = {achieved, ideal};
  return made;
}

plot latency(const report_source& from) {
  plot made{.title = "/query_by_hash, 128 hashes over 64 instances: latency and load (open loop)", .note = from.note};
  made.x = {.label = "offered, requests/s"};
  made.y = {.label = "latency from when a request was due, us", .is_log = true};
  for (const auto& [name, figure] :
       {std::pair{"p50", "p50"}, std::pair{"p90", "p90"}, std::pair{"p99", "p99"}, std::pair{"p99.9", "p999"}}) {
    plot_series each{.name = name};
    for (const int percent : http_sweep_percents) {
      const std::string at = "query_by_hash_at_" + std::to_string(percent) + "_percent_";
      if (const auto offered = from.figures.find(at + "offered_per_s")) add_point(each, from.figures, *offered, at + "ns_" + figure, 1e3);
    }
    made.series.push_back(std::move(each));
  }
  return made;
}

plot memory(const report_source& from, const report_shape& shape) {
  plot made{.title = "Memory of the index: bytes per (worker, block)", .note = from.note};
  made.x = {.label = "workers", .is_log = true};
  made.y = {.label = "bytes per (worker, block)"};
  for (const int percent : report_shared_percents) {
    plot_series each{.name = percent == 0 ? "nothing shared" : std::to_string(percent) + " % of each chain shared"};
    for (const std::uint32_t fleet : shape.fleets) {
      add_point(each, from.figures, fleet, "memory_" + std::to_string(percent) + "_" + std::to_string(fleet) + "_bytes");
    }
    made.series.push_back(std::move(each));
  }
  return made;
}

plot queries(const report_source& from, const report_shape& shape) {
  plot made{.title = "Time of a query in the index, warm", .note = from.note};
  made.x = {.label = "blocks of the prompt, all of them held", .is_log = true};
  made.y = {.label = "median, us", .is_log = true};
  const std::string many = std::to_string(shape.ragged_holders) + " holders, each ends elsewhere";
  for (const auto& [name, figure] : {std::pair<std::string, std::string>{"1 holder", "query_even_"},
                                     {"16 holders, all whole", "query_many_"},
                                     {many, "query_ragged_"}}) {
    plot_series each{.name = name};
    for (const std::uint32_t depth : shape.depths) add_point(each, from.figures, depth, figure + std::to_string(depth) + "_ns", 1e3);
    made.series.push_back(std::move(each));
  }
  return made;
}

plot recovery(const report_source& from, const report_shape& shape) {
  plot made{.title = "Recovery: from asking for a replay to the last batch in the index", .note = from.note};
  made.x = {.label = "batches that were missed, 64 blocks each", .is_log = true};
  made.y = {.label = "ms", .is_log = true};
  plot_series each{.name = "one stream"};
  for (const std::uint32_t gap : shape.gaps) add_point(each, from.figures, gap, "replay_" + std::to_string(gap) + "_s", 1e-3);
  made.series = {each};
  return made;
}

plot routing(const report_source& from) {
  plot made{.title = "Prompt tokens that need no prefill, by routing", .note = from.note};
  made.x = {.label = "routing"};
  made.y = {.label = "hit rate, % of the prompt tokens"};
  plot_series each{.name = "% of prompt tokens found cached"};
  constexpr std::array ways{"conductor", "round_robin", "random"};
  for (std::size_t i = 0; i < ways.size(); ++i) {
    const std::string name = ways[i];
    const auto saved = from.figures.find(name + "_saved_tokens");
    made.categories.push_back((name == "round_robin" ? "round robin" : name) + (saved ? ": " + plot_number(*saved) + " tokens saved" : ""));
    add_point(each, from.figures, static_cast<double>(i), name + "_saved_percent");
  }
  made.series = {each};
  return made;
}

plot scale(const report_sources& from, const report_plan& plan) {
  plot made{.title = "The scale model: nodes for a fleet", .note = from.shapes.note};
  made.x = {.label = "engines", .is_log = true};
  made.y = {.label = "nodes", .is_log = true};
  const scale_costs costs = costs_of(from.ingest.figures, from.http.figures, from.shapes.figures);
  for (const double queries : {plan.engine_queries, plan.engine_queries * 10}) {
    report_plan asked = plan;
    asked.engine_queries = queries;
    plot_series each{.name = plot_number(queries) + " queries/s per engine"};
    for (const std::uint64_t engines : {100, 300, 1'000, 3'000, 10'000, 30'000, 100'000}) {
      each.points.emplace_back(engines, scale_to(engines, costs, asked).nodes);
    }
    made.series.push_back(std::move(each));
  }
  return made;
}

bool has_points(const plot& made) {
  return std::ranges::any_of(made.series, [](const plot_series& each) { return !each.points.empty(); });
}

}  // namespace

plot_mark saturation_of(const plot_series& achieved) {
  constexpr double enough = 0.98;
  plot_mark last;
  for (const auto& [offered, got] : achieved.points) {
    if (got < offered * enough) continue;
    last = {.x = offered, .y = got, .text = "saturation: " + plot_number(got) + " blocks/s"};
  }
  // Without a rate that was too much nothing is known of saturation.
  const bool is_reached = !achieved.points.empty() && achieved.points.back().second < achieved.points.back().first * enough;
  return is_reached ? last : plot_mark{};
}

std::vector<report_plot> make_plots(const report_sources& from, const report_plan& plan) {
  const report_shape shape = shape_of(plan);
  std::vector<report_plot> all;
  const auto add = [&all](std::string name, plot made, std::string about) {
    if (has_points(made)) all.push_back({std::move(name), std::move(made), std::move(about)});
  };
  add("throughput", throughput(from.ingest),
      "Events over real sockets through the intake of the service, transport included. The ring marks the highest offered rate of which 98 "
      "% and "
      "more was achieved.");
  add("latency", latency(from.http),
      "The whole server on one core, load from another. Requests are due at a fixed rate; what has to wait for the server has waited since "
      "then.");
  add("memory", memory(from.shapes, shape), "Chains of 1,024 blocks. Where workers hold the same blocks, the index holds them once.");
  add("queries", queries(from.shapes, shape), "The index alone, without HTTP.");
  add("recovery", recovery(from.shapes, shape), "Over real sockets: the request, the replay, decoding, and the index.");
  add("routing", routing(from.e2e), "The same requests and engines, each way of routing by itself.");
  add("scale", scale(from, plan), "Computed from the costs below, not measured.");
  return all;
}

}  // namespace kvc::perf
