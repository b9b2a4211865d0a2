#include <algorithm>
#include <atomic>
#include <optional>
#include <thread>
#include <vector>

#include "perf/bench_clock.hpp"
#include "perf/bench_design.hpp"
#include "perf/bench_modes.hpp"

namespace kvc::perf {
namespace {

/// More samples than any published workload gives; a reader that asks for longer goes on without being timed.
constexpr std::size_t max_samples = std::size_t{1} << 26;

struct written {
  std::uint64_t ticks = 0;  ///< inside the index
  std::uint64_t blocks = 0;
};

/// Applies the events of one lane's workers in file order.
template <drivable Design>
written write_all(const bench_workload& file, Design& fleet, std::size_t lane) {
  written all;
  bench_op op;
  bench_workload::cursor at(file);
  while (at.next(op)) {
    if (op.kind == bench_kind::query || fleet.lane_of(op.worker) != lane) continue;
    const std::uint64_t start = bench_ticks();
    all.blocks += fleet.apply(op);
    all.ticks += bench_ticks() - start;
  }
  return all;
}

/// Asks the file's queries round and round until told to stop.
template <drivable Design>
void read_until(const bench_workload& file, const Design& fleet, const std::atomic<bool>& stop, std::vector<std::uint32_t>& times) {
  const double rate = bench_ns_per_tick();
  bench_op op;
  typename Design::answer found;
  while (!stop.load(std::memory_order_relaxed)) {
    bench_workload::cursor at(file);
    while (at.next(op) && !stop.load(std::memory_order_relaxed)) {
      if (op.kind != bench_kind::query) continue;
      const std::uint64_t start = bench_ticks();
      fleet.query(op.locals, found);
      const std::uint64_t took = bench_ticks() - start;
      if (times.size() == max_samples) continue;
      times.push_back(static_cast<std::uint32_t>(std::min(static_cast<double>(took) * rate, 4e9)));
    }
  }
}

double ns_per_block(const written& all) {
  return all.blocks == 0 ? 0.0 : static_cast<double>(all.ticks) * bench_ns_per_tick() / static_cast<double>(all.blocks);
}

template <drivable Design>
void write_beside_reader(const bench_workload& file, const bench_setup& setup, bench_report& report) {
  double alone = 0;
  {
    Design fleet(file.workers(), 1, setup);
    alone = ns_per_block(write_all(file, fleet, 0));
  }
  Design fleet(file.workers(), 1, setup);
  std::atomic<bool> stop{false};
  std::vector<std::uint32_t> times;
  times.reserve(std::size_t{1} << 24);
  std::thread reader([&] { read_until(file, fleet, stop, times); });
  const double beside = ns_per_block(write_all(file, fleet, 0));
  stop.store(true);
  reader.join();
  report.add("writer_alone_ns_per_block", alone);
  report.add("writer_beside_reader_ns_per_block", beside);
  report.add("writer_ratio", alone == 0 ? 0.0 : beside / alone);
  report.add("queries", static_cast<double>(times.size()));
  report.add_latencies("query_ns", times);
}

}  // namespace

void run_saturation(const bench_workload& file, const bench_setup& setup, bench_report& report) {
  with_design(setup.design, [&]<class Design>() { write_beside_reader<Design>(file, setup, report); });
}

void run_lanes(const bench_workload& file, bench_report& report) {
  double rates[2] = {0, 0};
  for (std::size_t lanes = 1; lanes <= 2; ++lanes) {
    runs_design fleet(file.workers(), lanes, {});
    std::vector<written> all(lanes);
    std::vector<std::thread> writers;
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      writers.emplace_back([&, lane] { all[lane] = write_all(file, fleet, lane); });
    }
    for (auto& each : writers) each.join();
    double blocks_per_ns = 0;
    for (const written& each : all) blocks_per_ns += 1.0 / std::max(ns_per_block(each), 1e-9);
    rates[lanes - 1] = blocks_per_ns * 1e3;
    report.add(lanes == 1 ? "one_lane_blocks_per_us" : "two_lanes_blocks_per_us", rates[lanes - 1]);
  }
  report.add("speed_up", rates[1] / rates[0]);
}

}  // namespace kvc::perf
