#include <algorithm>
#include <string>
#include <vector>

#include "core/arena.hpp"
#include "perf/bench_clock.hpp"
#include "perf/bench_design.hpp"
#include "perf/bench_memory.hpp"
#include "perf/bench_modes.hpp"

namespace kvc::perf {
namespace {

/// Ticks that two readings of the counter take by themselves: the smallest difference of many.
std::uint64_t reading_cost() {
  std::uint64_t least = ~std::uint64_t{0};
  for (int i = 0; i < 10'000; ++i) {
    const std::uint64_t start = bench_ticks();
    least = std::min(least, bench_ticks() - start);
  }
  return least;
}

/// The operation in hand and the events that follow it. A query in between hides none of them: a lane reads its events from a stream of
/// their own, and knows the next ones whether somebody asks in the meantime or not.
class bench_window {
 public:
  explicit bench_window(const bench_workload& file) : at_(file) {
    for (unsigned i = 1; i < size; ++i) fill(i);
  }
  /// False at the end.
  bool next() {
    if (has_[first_] && ops_[first_].kind != bench_kind::query) ++first_event_;
    const unsigned free = first_;
    first_ = (first_ + 1) % size;
    fill(free);
    return has_[first_];
  }
  [[nodiscard]] const bench_op& now() const noexcept { return ops_[first_]; }
  /// The event `ahead` of now, which is an event; null behind the end, or where more queries stand in between than the window has room for.
  [[nodiscard]] const bench_op* later(unsigned ahead) const noexcept {
    const unsigned at = first_event_ + ahead;
    return at < end_event_ ? &ops_[events_[at % size]] : nullptr;
  }

 private:
  static constexpr unsigned size = 16;
  void fill(unsigned at) {
    has_[at] = at_.next(ops_[at]);
    if (has_[at] && ops_[at].kind != bench_kind::query) events_[end_event_++ % size] = at;
  }

  bench_workload::cursor at_;
  std::array<bench_op, size> ops_;
  std::array<bool, size> has_{};
  std::array<unsigned, size> events_{};  ///< where events stand in `ops_`, in order
  unsigned first_ = 0;
  unsigned first_event_ = 0;  ///< counts events; the one in hand, or the next when a query is
  unsigned end_event_ = 0;
};

double per(double total, std::uint64_t units) {
  return units == 0 ? 0.0 : total / static_cast<double>(units);
}

/// Events of one kind, all of them and those of one block.
struct timed_events {
  std::uint64_t ticks = 0;
  std::uint64_t blocks = 0;
  std::uint64_t ticks_of_one = 0;
  std::uint64_t events_of_one = 0;

  void add(std::size_t more_blocks, std::uint64_t took) noexcept {
    ticks += took;
    blocks += more_blocks;
    if (more_blocks != 1) return;
    ticks_of_one += took;
    ++events_of_one;
  }
};

template <drivable Design>
void replay_timed(const bench_workload& file, const bench_setup& setup, bench_report& report) {
  const double rate = bench_ns_per_tick();
  const std::uint64_t cost = reading_cost();
  std::vector<std::uint32_t> queries;
  timed_events stores;
  timed_events removals;
  std::uint64_t worst = 0;
  bench_sums sums;
  typename Design::answer found;
  const std::size_t before = anonymous_bytes();
  Design fleet(file.workers(), 1, setup);
  bench_window ahead(file);
  const std::uint64_t first_tick = bench_ticks();
  const std::uint64_t first_cpu = bench_cpu_ns();
  while (ahead.next()) {
    const bench_op& op = ahead.now();
    const std::uint64_t start = bench_ticks();
    if (op.kind == bench_kind::query) {
      fleet.query(op.locals, found);
    } else {
      // As the server does within a batch of events.
      if constexpr (requires { fleet.expect(1U, op); }) {
        for (unsigned step = 0; step <= 4; ++step) {
          const bench_op* const soon = ahead.later(5 - step);
          if (soon == nullptr || (step == 0 && soon->worker == ahead.later(4)->worker)) continue;
          fleet.expect(step, *soon);
        }
      }
      fleet.apply(op);
    }
    const std::uint64_t took = bench_ticks() - start;
    const std::uint64_t net = took > cost ? took - cost : 0;
    if (op.kind == bench_kind::query) {
      queries.push_back(static_cast<std::uint32_t>(std::min(static_cast<double>(net) * rate, 4e9)));
      Design::count(found, sums);
      continue;
    }
    worst = std::max(worst, net);
    (op.kind == bench_kind::store ? stores : removals).add(op.names.size(), net);
  }
  const double passed_ns = static_cast<double>(bench_ticks() - first_tick) * rate;
  report.add("cpu_share", static_cast<double>(bench_cpu_ns() - first_cpu) / passed_ns);
  const double stores_ns = static_cast<double>(stores.ticks) * rate;
  const double removes_ns = static_cast<double>(removals.ticks) * rate;
  report.add("queries", static_cast<double>(queries.size()));
  report.add("pairs", static_cast<double>(sums.pairs));
  report.add("depth_sum", static_cast<double>(sums.depth_sum));
  report.add("stored_blocks", static_cast<double>(stores.blocks));
  report.add("removed_blocks", static_cast<double>(removals.blocks));
  report.add("dropped_blocks", static_cast<double>(fleet.dropped()));
  report.add("event_ns_per_block", per(stores_ns + removes_ns, stores.blocks + removals.blocks));
  report.add("store_ns_per_block", per(stores_ns, stores.blocks));
  report.add("remove_ns_per_block", per(removes_ns, removals.blocks));
  report.add("stores_of_one", static_cast<double>(stores.events_of_one));
  report.add("store_of_one_ns", per(static_cast<double>(stores.ticks_of_one) * rate, stores.events_of_one));
  report.add("removals_of_one", static_cast<double>(removals.events_of_one));
  report.add("remove_of_one_ns", per(static_cast<double>(removals.ticks_of_one) * rate, removals.events_of_one));
  report.add("worst_event_us", static_cast<double>(worst) * rate / 1000);
  report.add_latencies("query_ns", queries);
  std::vector<std::uint32_t>().swap(queries);
  const std::uint64_t entries = fleet.entries();
  report.add("entries", static_cast<double>(entries));
  report.add("bytes_per_entry", per(static_cast<double>(anonymous_bytes() - before), entries));
}

/// What the arena holds for the index, by kind.
void report_arena(bench_report& report) {
  const core::arena_usage now = core::arena_now();
  for (std::size_t i = 0; i < core::arena_kinds; ++i)
    report.add("arena_" + std::string(core::arena_kind_names[i]), static_cast<double>(now.used[i]));
  report.add("arena_mapped", static_cast<double>(now.mapped));
  report.add("arena_fragmentation", now.fragmentation());
}

template <drivable Design>
void replay_weighed(const bench_workload& file, const bench_setup& setup, bench_report& report) {
  bench_op op;
  const std::size_t before = anonymous_bytes();
  Design fleet(file.workers(), 1, setup);
  bench_workload::cursor at(file);
  while (at.next(op)) {
    if (op.kind != bench_kind::query) fleet.apply(op);
  }
  const std::uint64_t entries = fleet.entries();
  report.add("entries", static_cast<double>(entries));
  report.add("bytes_per_entry", per(static_cast<double>(anonymous_bytes() - before), entries));
  if constexpr (requires { fleet.index(); }) {
    report_arena(report);
    report.add("arena_trimmed", static_cast<double>(core::arena_trim()));
    report.add("bytes_per_entry_trimmed", per(static_cast<double>(anonymous_bytes() - before), entries));
    report.add("runs", static_cast<double>(fleet.index().run_count()));
    report.add("distinct_blocks", static_cast<double>(fleet.index().blocks()));
    report.add("own_account_bytes_per_entry", per(static_cast<double>(fleet.index().bytes()), entries));
  }
}

}  // namespace

void run_sequential(const bench_workload& file, const bench_setup& setup, bench_report& report) {
  with_design(setup.design, [&]<class Design>() { replay_timed<Design>(file, setup, report); });
}

void run_memory(const bench_workload& file, const bench_setup& setup, bench_report& report) {
  with_design(setup.design, [&]<class Design>() { replay_weighed<Design>(file, setup, report); });
}

}  // namespace kvc::perf
