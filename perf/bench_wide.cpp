#include <algorithm>
#include <array>
#include <atomic>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "perf/bench_clock.hpp"
#include "perf/bench_design.hpp"
#include "perf/bench_modes.hpp"

namespace kvc::perf {
namespace {

using core::engine_hash;
using core::local_hash;

constexpr std::size_t children = 1'000'000;

/// Single operations one after the other: how long each took, and the most CPU that one used. The two differ where the machine gave the CPU
/// to somebody else in the middle of an operation, which is no doing of the operation's.
class operation_times {
 public:
  /// Room for `most` times is made and touched before: a list that grows beside would itself be the worst operation. Of more, the newest
  /// count. The clock's rate, which takes 20 ms to find out, is known before as well.
  explicit operation_times(std::size_t most) : times_(most, 1) { static_cast<void>(bench_ns_per_tick()); }

  template <class Operation>
  void time(const Operation& operation) {
    if (count_ == 0) cpu_ = bench_cpu_ns();  // of the thread that is timed, which may not be the one that made this
    const std::uint64_t start = bench_ticks();
    operation();
    const auto took = static_cast<std::uint32_t>(static_cast<double>(bench_ticks() - start) * bench_ns_per_tick());
    const std::uint64_t cpu = bench_cpu_ns();
    worst_ = std::max(worst_, took);
    worst_cpu_ = std::max(worst_cpu_, cpu - cpu_);
    cpu_ = cpu;
    times_[count_++ % times_.size()] = took;
  }
  /// What the other one has timed as well.
  void absorb(const operation_times& other) {
    times_.resize(std::min(count_, times_.size()));
    times_.insert(times_.end(), other.times_.begin(),
                  other.times_.begin() + static_cast<std::ptrdiff_t>(std::min(other.count_, other.times_.size())));
    count_ = times_.size();
    worst_ = std::max(worst_, other.worst_);
    worst_cpu_ = std::max(worst_cpu_, other.worst_cpu_);
  }
  /// Adds quantiles and worst time, and the worst CPU use as `<name>_cpu_max`.
  void tell(const std::string& name, bench_report& report) {
    times_.resize(std::min(count_, times_.size()));
    if (times_.empty()) return;
    times_[0] = worst_;
    report.add_latencies(name, times_);
    report.add(name + "_cpu_max", static_cast<double>(worst_cpu_));
  }

 private:
  std::vector<std::uint32_t> times_;
  std::size_t count_ = 0;
  std::uint32_t worst_ = 0;
  std::uint64_t cpu_ = 0;
  std::uint64_t worst_cpu_ = 0;
};

/// Two threads that do nothing but look at the clock, as long as the real ones worked: what this machine makes of two busy threads.
void time_nothing(bench_report& report, double seconds) {
  std::array<operation_times, 2> idle{operation_times(1 << 20), operation_times(1 << 20)};
  const std::uint64_t end = bench_ticks() + static_cast<std::uint64_t>(seconds * 1e9 / bench_ns_per_tick());
  const auto spin = [end](operation_times& times) {
    while (bench_ticks() < end) times.time([] {});
  };
  std::thread other([&] { spin(idle[1]); });
  spin(idle[0]);
  other.join();
  idle[0].absorb(idle[1]);
  idle[0].tell("nothing_ns", report);
}

}  // namespace

void run_wide(bench_report& report) {
  runs_design fleet(16, 1, {});
  std::mt19937_64 random(9);
  std::vector<engine_hash> names;
  std::vector<local_hash> locals;
  for (std::size_t i = 0; i < 4; ++i) {
    names.emplace_back(random());
    locals.emplace_back(random());
  }
  for (std::uint32_t worker = 0; worker < 16; ++worker) fleet.store(worker, nullptr, names, locals);
  std::atomic<bool> stop{false};
  operation_times reads(std::size_t{1} << 25);
  std::thread reader([&] {
    runs_design::answer found;
    while (!stop.load(std::memory_order_relaxed)) reads.time([&] { fleet.query(locals, found); });
  });
  operation_times stores(children);
  const std::uint64_t start = bench_ticks();
  for (std::size_t i = 0; i < children; ++i) {
    const engine_hash name{random()};
    const local_hash local{random()};
    stores.time([&] { fleet.store(static_cast<std::uint32_t>(i % 16), &names[3], {&name, 1}, {&local, 1}); });
  }
  stop.store(true);
  reader.join();
  const double seconds = static_cast<double>(bench_ticks() - start) * bench_ns_per_tick() * 1e-9;
  stores.tell("store_ns", report);
  reads.tell("reader_ns", report);
  time_nothing(report, seconds);
}

}  // namespace kvc::perf
