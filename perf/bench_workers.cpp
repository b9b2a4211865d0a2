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

constexpr std::size_t shared_blocks = 32;
constexpr std::size_t own_blocks = 8;

/// `workers` of one partition hold one prompt and a chain behind it of their own; a query of one of them finds all. False when one did not.
bool with_workers(std::uint32_t workers, bench_report& report) {
  const std::string prefix = "workers_" + std::to_string(workers) + "_";
  runs_design fleet(workers, 1, {});
  const bench_chain prompt = make_chain(shared_blocks, 1);
  const std::uint64_t start = bench_ticks();
  for (std::uint32_t worker = 0; worker < workers; ++worker) {
    fleet.store(worker, nullptr, prompt.names, prompt.locals);
    const bench_chain own = make_chain(own_blocks, 1'000 + worker);
    fleet.store(worker, &prompt.names.back(), own.names, own.locals);
  }
  const double stored_ns = static_cast<double>(bench_ticks() - start) * bench_ns_per_tick();
  report.add(prefix + "store_ns_per_block", stored_ns / (static_cast<double>(workers) * (shared_blocks + own_blocks)));
  std::vector<std::uint32_t> times;
  runs_design::answer found;
  bool is_exact = true;
  std::mt19937_64 random(2);
  for (std::size_t i = 0; i < 1'000; ++i) {
    const auto whose = static_cast<std::uint32_t>(random() % workers);
    std::vector<local_hash> query = prompt.locals;
    const bench_chain own = make_chain(own_blocks, 1'000 + whose);
    query.insert(query.end(), own.locals.begin(), own.locals.end());
    const std::uint64_t begin = bench_ticks();
    fleet.query(query, found);
    times.push_back(static_cast<std::uint32_t>(static_cast<double>(bench_ticks() - begin) * bench_ns_per_tick()));
    bench_sums sums;
    runs_design::count(found, sums);
    is_exact = is_exact && sums.pairs == workers && sums.depth_sum == std::uint64_t{workers} * shared_blocks + own_blocks;
  }
  report.add(prefix + "is_exact", is_exact ? 1 : 0);
  report.add_latencies(prefix + "query_ns", times);
  return is_exact;
}

}  // namespace

void run_workers(bench_report& report) {
  std::uint32_t most = 0;
  for (const std::uint32_t workers : {1'024U, 16'384U, 65'536U}) {
    if (with_workers(workers, report)) most = workers;
  }
  report.add("workers_exact", most);
}

}  // namespace kvc::perf
