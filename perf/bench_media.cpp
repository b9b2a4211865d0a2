#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "perf/bench_chain.hpp"
#include "perf/bench_clock.hpp"
#include "perf/bench_design.hpp"
#include "perf/bench_modes.hpp"

namespace kvc::perf {
namespace {

using core::local_hash;
using core::medium_id;

constexpr std::size_t rounds = 2'000;

/// Stores the first `count` blocks of `from`.
void store_head(bench_fleet& fleet, std::uint32_t worker, const bench_chain& from, std::size_t count, medium_id medium) {
  fleet.store(worker, nullptr, std::span(from.names).first(count), std::span(from.locals).first(count), medium);
}

void time_rows(const bench_fleet& fleet, const std::vector<std::vector<local_hash>>& queries, const core::match_scope& scope,
               const std::string& name, bench_report& report) {
  std::vector<std::uint32_t> times;
  core::match_result rows;
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < rounds; ++i) {
    const std::uint64_t start = bench_ticks();
    fleet.index().match(queries[i % queries.size()], scope, rows);
    times.push_back(static_cast<std::uint32_t>(static_cast<double>(bench_ticks() - start) * bench_ns_per_tick()));
    if (i >= queries.size()) continue;
    for (const core::worker_depth& each : rows.workers) sum += each.any + each.device_or_host + each.on[0] + each.on[1];
  }
  report.add(name + "_depth_sum", static_cast<double>(sum));
  report.add_latencies(name + "_ns", times);
}

void ragged_media(bench_report& report) {
  constexpr std::uint32_t workers = 1'024;
  bench_fleet fleet(workers, 1);
  const bench_chain one = make_chain(4'096, 1);
  std::mt19937_64 random(2);
  for (std::uint32_t worker = 0; worker < workers; ++worker) {
    store_head(fleet, worker, one, (worker + 1) * 4, medium_id::gpu);
    store_head(fleet, worker, one, 1 + random() % one.names.size(), medium_id::cpu);
  }
  time_rows(fleet, {one.locals}, {}, "ragged", report);
}

/// Prompts of 32 blocks that everybody holds, conversations of up to 64 behind them on one or two workers each: a part on the device, all
/// of it in memory.
void fleet_media(bool has_pool, bench_report& report) {
  constexpr std::uint32_t workers = 128;
  constexpr std::uint32_t conversations = 4'096;
  bench_fleet fleet(workers + 1, 1);
  const bench_chain prompt = make_chain(32, 3);
  for (std::uint32_t worker = 0; worker < workers; ++worker) {
    store_head(fleet, worker, prompt, prompt.names.size(), medium_id::gpu);
    store_head(fleet, worker, prompt, prompt.names.size(), medium_id::cpu);
  }
  if (has_pool) store_head(fleet, workers, prompt, prompt.names.size(), medium_id::cpu);
  std::mt19937_64 random(4);
  std::vector<std::vector<local_hash>> queries;
  for (std::uint32_t i = 0; i < conversations; ++i) {
    const bench_chain own = make_chain(64, 1'000 + i);
    for (std::uint64_t copies = 1 + random() % 2; copies > 0; --copies) {
      const auto worker = static_cast<std::uint32_t>(random() % workers);
      const std::size_t on_device = 1 + random() % 64;
      fleet.store(worker, &prompt.names.back(), std::span(own.names).first(on_device), std::span(own.locals).first(on_device));
      fleet.store(worker, &prompt.names.back(), own.names, own.locals, medium_id::cpu);
    }
    if (has_pool) fleet.store(workers, &prompt.names.back(), own.names, own.locals, medium_id::cpu);
    queries.push_back(prompt.locals);
    queries.back().insert(queries.back().end(), own.locals.begin(), own.locals.end());
  }
  std::ranges::shuffle(queries, random);
  queries.resize(rounds);
  core::match_scope scope;
  if (has_pool) scope.pools = {core::worker_id{workers}};
  time_rows(fleet, queries, scope, has_pool ? "fleet_with_pool" : "fleet", report);
}

}  // namespace

void run_media(bench_report& report) {
  ragged_media(report);
  fleet_media(false, report);
  fleet_media(true, report);
}

}  // namespace kvc::perf
