// The modes of the index benchmark. Each adds its figures to a report; all durations are nanoseconds unless the name says otherwise.
// Modes that take a setup can drive either design; the others measure ours.
#pragma once

#include <span>
#include <string_view>

#include "perf/bench_design.hpp"
#include "perf/bench_report.hpp"
#include "perf/bench_workload.hpp"

namespace kvc::perf {

/// Every operation of the file in order on one thread, each timed: events per block by kind, those of one block by themselves, queries as a
/// distribution, the sums that pin the answers, and bytes per (worker, block) held at the end. The cost of reading the counter is measured
/// and taken off. `cpu_share` tells how much of the time the thread really ran: times are trustworthy when it is near 1. `dropped_blocks`
/// are those of stores that the design could not place; ours never drops any.
void run_sequential(const bench_workload& file, const bench_setup& setup, bench_report& report);

/// Events only, untimed, with memory figures: of the process (anonymous resident bytes) and, for ours, by the index's own account.
void run_memory(const bench_workload& file, const bench_setup& setup, bench_report& report);

/// What all workers hold at the end of the file, told in turns as the service does, and loaded into a second index: blocks per second for
/// each, and the longest turn. The figures of both indexes have to be the same, answers included.
void run_dump(const bench_workload& file, bench_report& report);

/// One writer applies all events while one reader asks the file's queries round and round; then the writer alone, for comparison.
void run_saturation(const bench_workload& file, const bench_setup& setup, bench_report& report);

/// Two writer lanes, each with every second worker, against one lane with all.
void run_lanes(const bench_workload& file, bench_report& report);

/// Chains of 16,384 blocks held whole by 16 workers: hot queries, and cold ones over 256 such chains (64 for the positional design, which
/// would take some 10 GiB for all).
void run_deep(const bench_setup& setup, bench_report& report);

/// 1,024 workers that hold a chain of 4,096 blocks to 1,024 different depths; and 1,024 that hold all of a 16,384 chain.
void run_ragged(const bench_setup& setup, bench_report& report);

/// 1,024 workers, each forking off a chain of 4,096 blocks at a position of its own.
void run_fork(bench_report& report);

/// A chain of 4,096 blocks in which 3,840 holes are opened and healed: queries before and after; `healed_ratio` compares their medians.
void run_holes(bench_report& report);

/// One block that gets 1,000,000 children: the worst single store, and the longest query of a reader meanwhile, by the clock and by the CPU
/// used. `nothing_ns` are two threads that only look at the clock for as long: what the machine itself does to two busy threads.
void run_wide(bench_report& report);

/// The stores of run_wide without a reader beside them, each followed by a query of its block, in nine processes one after the other that
/// are alike to the last address: of each operation the least that it took, since what a machine takes from one it rarely takes from the
/// same one nine times. The worst of these is what the program itself makes somebody wait, as nearly as it can be told on a machine that
/// is shared. Throws std::runtime_error when a process cannot be started, or fails.
void run_least(bench_report& report);

/// One partition with 1,024, 16,384 and 65,536 workers that share a prompt and go on differently: time per block stored and per query, all
/// of whose answers name every worker. `workers_exact` is the most for which they were right.
void run_workers(bench_report& report);

/// 1,024 workers that hold a chain on two media to different depths, and 128 whose prompts and replies lie on two media, with and without a
/// shared pool beside them: queries that answer with a row per worker.
void run_media(bench_report& report);

/// Bytes per (worker, block): 1,024 workers with chains of their own, and 128 workers that all hold the same chains.
void run_sharing(bench_report& report);

/// Cache lines of large pages asked for 32 at a time, in 8 to 512 MiB, anywhere (`ask_512_mib_ns` for each) or sixteen each in 4 KiB
/// (`ask_512_mib_by_4_kib_ns`), 32 KiB and 2 MiB, and what using them takes a microsecond later. Where those in 4 KiB take much less than
/// those in 2 MiB, what is waited for is the translation of addresses, and the machine does not keep large pages as such.
void run_bursts(bench_report& report);

/// The four deepest of 1,024 workers, by rows of all and by levels: every worker at a random depth of one chain, or all at its end; as
/// instances of one rank and of four.
void run_topk(bench_report& report);

/// A mode as the command line names it.
struct bench_mode {
  std::string_view name;
  std::string_view about;                                                              ///< for --help
  void (*replay)(const bench_workload&, const bench_setup&, bench_report&) = nullptr;  ///< null: the mode needs no file
  void (*shape)(const bench_setup&, bench_report&) = nullptr;                          ///< null: the mode needs a file
  bool drives_any_design = false;                                                      ///< false: ours only
};

/// All modes, in the order --help lists them.
[[nodiscard]] std::span<const bench_mode> bench_modes() noexcept;
/// Null when there is no such mode.
[[nodiscard]] const bench_mode* find_bench_mode(std::string_view name) noexcept;

}  // namespace kvc::perf
