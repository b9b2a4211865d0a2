#include <algorithm>
#include <array>

#include "perf/bench_modes.hpp"

namespace kvc::perf {
namespace {

/// Gives a mode that measures our design only the form of the others.
template <auto Run>
void ours_on_file(const bench_workload& file, const bench_setup&, bench_report& report) {
  Run(file, report);
}

template <auto Run>
void ours(const bench_setup&, bench_report& report) {
  Run(report);
}

constexpr std::array all_modes{
    bench_mode{"sequential", "every operation in order, each timed", run_sequential, nullptr, true},
    bench_mode{"saturation", "one writer, with and without a reader beside it", run_saturation, nullptr, true},
    bench_mode{"memory", "events only: bytes per (worker, block)", run_memory, nullptr, true},
    bench_mode{"dump", "tell what every worker holds, and load it into a fresh index", ours_on_file<run_dump>, nullptr, false},
    bench_mode{"lanes", "two writer lanes against one", ours_on_file<run_lanes>, nullptr, false},
    bench_mode{"deep", "queries of chains 16,384 blocks deep, hot, cold, and cold with a question just hashed", nullptr, run_deep, true},
    bench_mode{"ragged", "1,024 workers at 1,024 depths of one chain", nullptr, run_ragged, true},
    bench_mode{"fork", "1,024 workers, each leaving a chain elsewhere", nullptr, ours<run_fork>, false},
    bench_mode{"holes", "a chain before and after 3,840 holes were opened and healed", nullptr, ours<run_holes>, false},
    bench_mode{"wide", "one block that gets 1,000,000 children: worst store, worst read", nullptr, ours<run_wide>, false},
    bench_mode{"least", "the stores of wide nine times, each by the least it took: how much of the worst is the program's own", nullptr,
               ours<run_least>, false},
    bench_mode{"workers", "one partition with up to 65,536 workers: stores, and answers that name all of them", nullptr, ours<run_workers>,
               false},
    bench_mode{"topk", "the four deepest of 1,024 workers, by all rows and by levels", nullptr, ours<run_topk>, false},
    bench_mode{"media", "workers with two media each, and a shared pool", nullptr, ours<run_media>, false},
    bench_mode{"bursts", "lines of memory asked for 32 at a time, in 8 to 512 MiB: what large tables wait for here", nullptr,
               ours<run_bursts>, false},
    bench_mode{"sharing", "bytes per (worker, block) when nothing and when everything is shared", nullptr, ours<run_sharing>, false},
};

}  // namespace

std::span<const bench_mode> bench_modes() noexcept {
  return all_modes;
}

const bench_mode* find_bench_mode(std::string_view name) noexcept {
  const auto found = std::ranges::find(all_modes, name, &bench_mode::name);
  return found == all_modes.end() ? nullptr : &*found;
}

}  // namespace kvc::perf
