#include <algorithm>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "core/catalog.hpp"
#include "core/level_fold.hpp"
#include "core/quiescence.hpp"
#include "perf/bench_clock.hpp"
#include "perf/bench_design.hpp"
#include "perf/bench_modes.hpp"

namespace kvc::perf {
namespace {

constexpr std::uint32_t workers = 1'024;
constexpr std::size_t chain_blocks = 512;
constexpr std::size_t most = 4;
constexpr std::size_t rounds = 5'000;

/// Workers as members of instances with `ranks` each.
std::vector<core::member> make_members(std::uint32_t ranks) {
  std::vector<core::member> members(workers);
  for (std::uint32_t i = 0; i < workers; ++i) {
    members[i].id = core::worker_id{i};
    members[i].key = core::shared_key(
        {.tenant = "default", .instance = std::to_string(10'000 + i / ranks), .rank = core::dp_rank{i % ranks}, .kind = {}});
  }
  return members;
}

template <class Query>
void time_query(const std::string& name, Query query, bench_report& report) {
  std::vector<std::uint32_t> times;
  for (std::size_t i = 0; i < rounds; ++i) {
    const std::uint64_t start = bench_ticks();
    query();
    times.push_back(static_cast<std::uint32_t>(static_cast<double>(bench_ticks() - start) * bench_ns_per_tick()));
  }
  report.add_latencies(name, times);
}

/// The same choice both ways; the sums of depths have to be equal.
void choose_both_ways(const bench_fleet& fleet, std::span<const core::local_hash> query, std::uint32_t ranks, const std::string& name,
                      bench_report& report) {
  const core::member_map members(make_members(ranks));
  const core::match_scope everything;
  core::match_result rows;
  std::vector<core::instance_reach> chosen;
  std::uint64_t sum = 0;
  time_query(
      name + "_rows_ns",
      [&] {
        fleet.index().match(query, everything, rows);
        chosen.clear();
        for (std::uint32_t i = 0; i < members.instances().size(); ++i) {
          std::uint32_t depth = 0;
          for (std::uint32_t each = members.instances()[i].first; each < members.instances()[i].last; ++each) {
            depth = std::max(depth, rows.of(core::worker_id{each}).any);
          }
          chosen.push_back({i, depth});
        }
        std::ranges::sort(chosen, [](const auto& left, const auto& right) {
          return left.depth != right.depth ? left.depth > right.depth : left.instance < right.instance;
        });
        chosen.resize(most);
      },
      report);
  for (const auto& each : chosen) sum += each.depth;
  report.add(name + "_rows_depth_sum", static_cast<double>(sum));

  core::match_levels levels;
  core::level_fold fold;
  time_query(
      name + "_levels_ns",
      [&] {
        const core::quiescent_scope reading;
        if (fleet.index().match(query, everything, levels)) {
          fold.run(fleet.index().slots(), members, levels, {.least = 0, .most = most, .wanted = {}}, chosen, rows);
        }
      },
      report);
  sum = 0;
  for (const auto& each : chosen) sum += each.depth;
  report.add(name + "_levels_depth_sum", static_cast<double>(sum));
}

}  // namespace

void run_topk(bench_report& report) {
  std::mt19937_64 random(10);
  std::vector<core::engine_hash> names;
  std::vector<core::local_hash> locals;
  for (std::size_t i = 0; i < chain_blocks; ++i) {
    names.emplace_back(random());
    locals.emplace_back(random());
  }
  for (const std::string shape : {"ragged", "tied"}) {
    runs_design fleet(workers, 1, {});
    for (std::uint32_t worker = 0; worker < workers; ++worker) {
      const std::size_t depth = shape == "tied" ? chain_blocks : 1 + random() % chain_blocks;
      fleet.store(worker, nullptr, std::span(names).first(depth), std::span(locals).first(depth));
    }
    for (const std::uint32_t ranks : {1U, 4U}) choose_both_ways(fleet, locals, ranks, shape + "_" + std::to_string(ranks), report);
  }
}

}  // namespace kvc::perf
