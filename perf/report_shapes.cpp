#include "perf/report_shapes.hpp"

#include <algorithm>
#include <random>
#include <span>

#include "perf/bench_clock.hpp"
#include "perf/bench_fleet.hpp"
#include "perf/bench_fresh.hpp"
#include "perf/bench_memory.hpp"
#include "perf/bench_progress.hpp"
#include "perf/ingest_measures.hpp"

namespace kvc::perf {
namespace {

/// A chain of random blocks under random names.
struct chain {
  std::vector<core::engine_hash> names;
  std::vector<core::local_hash> locals;

  chain(std::size_t length, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    names.reserve(length);
    locals.reserve(length);
    for (std::size_t i = 0; i < length; ++i) {
      names.emplace_back(random());
      locals.emplace_back(random());
    }
  }
};

void store(bench_fleet& fleet, std::uint32_t worker, const core::engine_hash* parent, const chain& from, std::size_t count) {
  if (count > 0) fleet.store(worker, parent, std::span(from.names).first(count), std::span(from.locals).first(count));
}

bench_report measure_memory(std::uint32_t workers, int shared_percent, const std::string& name) {
  constexpr std::size_t length = 1'024;
  constexpr std::uint64_t chains = 4;
  const std::size_t shared = length * static_cast<std::size_t>(shared_percent) / 100;
  const std::size_t before = anonymous_bytes();
  bench_fleet fleet(workers, 1);
  for (std::uint64_t number = 0; number < chains; ++number) {
    const chain common(shared, 1 + number);
    for (std::uint32_t worker = 0; worker < workers; ++worker) {
      store(fleet, worker, nullptr, common, shared);
      const chain own(length - shared, 1'000 + number * workers + worker);
      store(fleet, worker, shared == 0 ? nullptr : &common.names.back(), own, length - shared);
    }
  }
  bench_report report;
  report.add(name, static_cast<double>(anonymous_bytes() - before) / static_cast<double>(fleet.entries()));
  return report;
}

double query_ns(const bench_fleet& fleet, const chain& asked) {
  constexpr int rounds = 501;
  core::match_levels found;
  std::vector<double> times;
  for (int i = 0; i < rounds; ++i) {
    const std::uint64_t start = bench_ticks();
    fleet.query(asked.locals, found);
    times.push_back(static_cast<double>(bench_ticks() - start) * bench_ns_per_tick());
  }
  std::ranges::nth_element(times, times.begin() + rounds / 2);
  return times[rounds / 2];
}

bench_report measure_queries(std::uint32_t depth, std::uint32_t ragged) {
  constexpr std::uint32_t many = 16;
  const chain asked(depth, 7);
  const std::string behind = "_" + std::to_string(depth) + "_ns";
  bench_report report;
  const auto measure = [&](const std::string& name, std::uint32_t holders, auto reach_of) {
    bench_fleet fleet(holders, 1);
    for (std::uint32_t worker = 0; worker < holders; ++worker) store(fleet, worker, nullptr, asked, reach_of(worker));
    report.add(name + behind, query_ns(fleet, asked));
  };
  measure("query_even", 1, [&](std::uint32_t) { return depth; });
  measure("query_many", many, [&](std::uint32_t) { return depth; });
  measure("query_ragged", ragged,
          [&](std::uint32_t worker) { return static_cast<std::size_t>(std::uint64_t{depth} * (worker + 1) / ragged); });
  return report;
}

bench_report measure_recovery(std::uint32_t batches) {
  ingest_plan plan;
  plan.replay_batches = batches;
  const bench_report measured = measure_ingest_replay(plan, frames_to_replay(batches, net::event_form::vllm_map));
  bench_report report;
  report.add("replay_" + std::to_string(batches) + "_s", measured.find("replay_s").value_or(0));
  return report;
}

}  // namespace

report_shape shape_of(const report_plan& plan) {
  if (plan.is_quick) return {.fleets = {4, 16}, .depths = {64, 256}, .ragged_holders = 32, .gaps = {10, 50}};
  return {.fleets = {16, 64, 256, 1'024},
          .depths = {16, 64, 256, 1'024, 4'096, 16'384},
          .ragged_holders = 1'024,
          .gaps = {10, 100, 1'000, 10'000}};
}

boost::system::result<bench_report, std::string> measure_report_shapes(const report_plan& plan,
                                                                       const std::function<void(const std::string&)>& tell) {
  const report_shape shape = shape_of(plan);
  bench_report all;
  std::string fault;
  const auto take = [&](const std::string& what, const std::function<bench_report()>& work) {
    tell(what);
    const auto measured = measure_fresh(work);
    if (!measured) {
      fault = what + ": " + measured.error();
      return false;
    }
    for (const bench_figure& each : measured->figures()) all.add(each.name, each.value);
    return true;
  };
  for (const int percent : report_shared_percents) {
    for (const std::uint32_t fleet : shape.fleets) {
      const std::string name = "memory_" + std::to_string(percent) + "_" + std::to_string(fleet) + "_bytes";
      const std::string what = "memory, " + std::to_string(fleet) + " workers, " + std::to_string(percent) + " % shared";
      if (!take(what, [&] { return measure_memory(fleet, percent, name); })) return fault;
    }
  }
  for (const std::uint32_t depth : shape.depths) {
    if (!take("queries, " + std::to_string(depth) + " deep", [&] { return measure_queries(depth, shape.ragged_holders); })) return fault;
  }
  for (const std::uint32_t gap : shape.gaps) {
    if (!take("recovery of " + std::to_string(gap) + " batches", [&] { return measure_recovery(gap); })) return fault;
  }
  return all;
}

bench_report measure_report_check(std::uint64_t entries) {
  constexpr std::size_t length = 16'384;
  const auto workers = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(entries / length, 1, 32'768));
  const std::size_t before = anonymous_bytes();
  bench_progress progress("scale check: chains stored", workers);
  bench_fleet fleet(workers, 1);
  std::uint64_t storing = 0;
  for (std::uint32_t worker = 0; worker < workers; ++worker) {
    const chain own(length, 5'000 + worker);
    const std::uint64_t start = bench_cpu_ns();
    store(fleet, worker, nullptr, own, length);
    storing += bench_cpu_ns() - start;
    progress.at(worker);
  }
  const auto held = static_cast<double>(fleet.entries());
  bench_report report;
  report.add("check_workers", workers);
  report.add("check_entries", held);
  report.add("check_bytes_per_entry", static_cast<double>(anonymous_bytes() - before) / held);
  report.add("check_store_ns", static_cast<double>(storing) / held);
  return report;
}

}  // namespace kvc::perf
