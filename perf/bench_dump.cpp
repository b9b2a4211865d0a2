#include <algorithm>
#include <span>
#include <vector>

#include "core/snapshot.hpp"
#include "core/snapshot_loader.hpp"
#include "perf/bench_clock.hpp"
#include "perf/bench_fleet.hpp"
#include "perf/bench_modes.hpp"

namespace kvc::perf {
namespace {

constexpr std::size_t blocks_per_turn = 4'096;  ///< what the service tells before other work of the lane gets a turn

double per_second(std::uint64_t blocks, std::uint64_t ticks) {
  const double passed_ns = static_cast<double>(ticks) * bench_ns_per_tick();
  return passed_ns == 0 ? 0.0 : static_cast<double>(blocks) * 1e9 / passed_ns;
}

/// The file's queries against an index that does not change any more.
bench_sums ask_all(const bench_workload& file, const bench_fleet& fleet) {
  bench_sums sums;
  bench_op op;
  core::match_levels found;
  bench_workload::cursor at(file);
  while (at.next(op)) {
    if (op.kind != bench_kind::query) continue;
    fleet.query(op.locals, found);
    bench_fleet::count(found, sums);
  }
  return sums;
}

}  // namespace

void run_dump(const bench_workload& file, bench_report& report) {
  bench_fleet fleet(file.workers(), 1);
  bench_fleet loaded(file.workers(), 1);
  bench_op op;
  bench_workload::cursor at(file);
  while (at.next(op)) {
    if (op.kind != bench_kind::query) fleet.apply(op);
  }

  core::dump_slice reused;
  std::uint64_t blocks = 0;
  std::uint64_t paths = 0;
  std::uint64_t dump_ticks = 0;
  std::uint64_t load_ticks = 0;
  std::uint64_t worst_cpu_ns = 0;  // of the CPU, not of the clock: a turn that lost its CPU to others has not worked for longer
  std::uint64_t refused = 0;
  core::apply_tally tally;
  for (std::uint32_t worker = 0; worker < file.workers(); ++worker) {
    core::dump_cursor cursor;
    core::snapshot_loader loader(loaded.worker(worker));
    bool has_homes = false;
    for (bool is_done = false; !is_done;) {
      reused.clear();
      const std::uint64_t start_cpu = bench_cpu_ns();
      const std::uint64_t start = bench_ticks();
      is_done = fleet.worker(worker).dump_some(cursor, blocks_per_turn, reused);
      const std::uint64_t told = bench_ticks();
      worst_cpu_ns = std::max(worst_cpu_ns, bench_cpu_ns() - start_cpu);
      const std::uint64_t load_start = bench_ticks();
      if (!has_homes) loader.add_home(loaded.home());
      has_homes = true;
      if (loader.load(reused, tally)) ++refused;
      load_ticks += bench_ticks() - load_start;
      dump_ticks += told - start;
      blocks += reused.blocks();
      paths += reused.paths.size();
    }
    const std::uint64_t start = bench_ticks();
    loader.finish(tally);
    load_ticks += bench_ticks() - start;
  }
  const bench_sums wanted = ask_all(file, fleet);
  const bench_sums got = ask_all(file, loaded);
  report.add("dump_blocks", static_cast<double>(blocks));
  report.add("dump_paths", static_cast<double>(paths));
  report.add("dump_blocks_per_s", per_second(blocks, dump_ticks));
  report.add("dump_worst_turn_cpu_us", static_cast<double>(worst_cpu_ns) / 1000);
  report.add("load_blocks_per_s", per_second(blocks, load_ticks));
  report.add("refused_slices", static_cast<double>(refused));
  report.add("entries", static_cast<double>(fleet.entries()));
  report.add("loaded_entries", static_cast<double>(loaded.entries()));
  report.add("depth_sum", static_cast<double>(wanted.depth_sum));
  report.add("loaded_depth_sum", static_cast<double>(got.depth_sum));
}

}  // namespace kvc::perf
