#include <algorithm>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "perf/bench_chain.hpp"
#include "perf/bench_clock.hpp"
#include "perf/bench_design.hpp"
#include "perf/bench_memory.hpp"
#include "perf/bench_modes.hpp"
#include "perf/large_page_allocator.hpp"

namespace kvc::perf {
namespace {

/// Stores `count` blocks of `from`, from position `start` on.
template <drivable Design>
void store_part(Design& fleet, std::uint32_t worker, const bench_chain& from, std::size_t start, std::size_t count) {
  const auto names = std::span(from.names).subspan(start, count);
  const auto locals = std::span(from.locals).subspan(start, count);
  fleet.store(worker, start == 0 ? nullptr : &from.names[start - 1], names, locals);
}

/// What a question lies in: memory of its own, as cold as its chain, or the memory in which the server has just hashed its tokens.
enum class question { own, just_hashed };
using asked_blocks = std::span<const core::local_hash>;

std::vector<asked_blocks> blocks_of(const std::vector<const bench_chain*>& chains) {
  std::vector<asked_blocks> all;
  for (const bench_chain* each : chains) all.emplace_back(each->locals);
  return all;
}

/// Copies of questions on large pages.
using paged_blocks = std::vector<core::local_hash, large_page_allocator<core::local_hash>>;

/// Side by side, all in one piece. The answer's spans are of `into`.
std::vector<asked_blocks> copy_to(paged_blocks& into, const std::vector<asked_blocks>& from) {
  std::size_t blocks = 0;
  for (const asked_blocks& one : from) blocks += one.size();
  into.reserve(blocks);
  std::vector<asked_blocks> all;
  for (const asked_blocks& one : from) {
    into.insert(into.end(), one.begin(), one.end());
    all.push_back(std::span(into).last(one.size()));
  }
  return all;
}

/// Nanoseconds of `rounds` queries that ask for the chains in turn; what the first finds is reported.
template <drivable Design>
std::vector<std::uint32_t> times_of_queries(const Design& fleet, const std::vector<asked_blocks>& chains, std::size_t rounds,
                                            const std::string& name, bench_report& report, question lies_in = question::own) {
  std::vector<core::local_hash> just_hashed;
  std::vector<std::uint32_t> times;
  typename Design::answer found;
  bench_sums sums;
  for (std::size_t i = 0; i < rounds; ++i) {
    asked_blocks asked = chains[i % chains.size()];
    if (lies_in == question::just_hashed) {
      just_hashed.assign(asked.begin(), asked.end());
      asked = just_hashed;
    }
    const std::uint64_t start = bench_ticks();
    fleet.query(asked, found);
    times.push_back(static_cast<std::uint32_t>(static_cast<double>(bench_ticks() - start) * bench_ns_per_tick()));
    if (i == 0) Design::count(found, sums);
  }
  report.add(name + "_pairs", static_cast<double>(sums.pairs));
  report.add(name + "_depth_sum", static_cast<double>(sums.depth_sum));
  return times;
}

/// Answers the median.
template <drivable Design>
double time_queries(const Design& fleet, const std::vector<const bench_chain*>& chains, std::size_t rounds, const std::string& name,
                    bench_report& report, question lies_in = question::own) {
  std::vector<std::uint32_t> times = times_of_queries(fleet, blocks_of(chains), rounds, name, report, lies_in);
  report.add_latencies(name, times);
  return *report.find(name + "_p50");
}

template <drivable Design>
void query_deep(const bench_setup& setup, bench_report& report) {
  const std::size_t chains = setup.design == bench_design::runs ? 256 : 64;
  constexpr std::size_t depth = 16'384;
  Design fleet(16, 1, setup);
  std::vector<bench_chain> all;
  for (std::size_t i = 0; i < chains; ++i) {
    all.push_back(make_chain(depth, 100 + i));
    for (std::uint32_t worker = 0; worker < 16; ++worker) store_part(fleet, worker, all.back(), 0, depth);
  }
  report.add("deep_hashes", static_cast<double>(depth));
  std::vector<const bench_chain*> each;
  for (const bench_chain& one : all) each.push_back(&one);
  time_queries(fleet, {&all[0]}, 2'000, "deep_hot_ns", report);
  // A host that has put pages of its guest out of reach meanwhile finds each again when it is used first, which no cache has a part in.
  std::vector<std::uint32_t> cold = times_of_queries(fleet, blocks_of(each), 2'048, "deep_cold_ns", report);
  std::vector<std::uint32_t> again(cold.begin() + static_cast<std::ptrdiff_t>(chains), cold.end());
  report.add_latencies("deep_cold_ns", cold);
  report.add_latencies("deep_cold_again_ns", again);
  // Small pages are of the caller's choosing: on large ones, where the index keeps its own, a question is read without looking up 32
  // addresses.
  paged_blocks pages;
  const std::vector<asked_blocks> paged = copy_to(pages, blocks_of(each));
  std::vector<std::uint32_t> on_large_pages = times_of_queries(fleet, paged, 2'048, "deep_cold_paged_ns", report);
  report.add_latencies("deep_cold_paged_ns", on_large_pages);
  time_queries(fleet, each, 2'048, "deep_just_hashed_ns", report, question::just_hashed);
}

template <drivable Design>
void query_ragged(const bench_setup& setup, bench_report& report) {
  {
    Design fleet(1'024, 1, setup);
    const bench_chain one = make_chain(4'096, 1);
    for (std::uint32_t worker = 0; worker < 1'024; ++worker) store_part(fleet, worker, one, 0, (worker + 1) * 4);
    time_queries(fleet, {&one}, 5'000, "ragged_ns", report);
  }
  {
    // The same end, reached by growing: every worker in turn takes the chain a little further than the one before.
    Design fleet(1'024, 1, setup);
    const bench_chain one = make_chain(4'096, 2);
    for (std::uint32_t worker = 0; worker < 1'024; ++worker) {
      for (std::size_t at = 0; at < (worker + 1) * 4; at += 64)
        store_part(fleet, worker, one, at, std::min<std::size_t>(64, (worker + 1) * 4 - at));
    }
    time_queries(fleet, {&one}, 5'000, "ragged_grown_ns", report);
  }
  Design fleet(1'024, 1, setup);
  const bench_chain one = make_chain(16'384, 3);
  for (std::uint32_t worker = 0; worker < 1'024; ++worker) store_part(fleet, worker, one, 0, 16'384);
  time_queries(fleet, {&one}, 2'000, "whole_ns", report);
}

}  // namespace

void run_deep(const bench_setup& setup, bench_report& report) {
  with_design(setup.design, [&]<class Design>() { query_deep<Design>(setup, report); });
}

void run_ragged(const bench_setup& setup, bench_report& report) {
  with_design(setup.design, [&]<class Design>() { query_ragged<Design>(setup, report); });
}

void run_fork(bench_report& report) {
  for (const bool trunk_first : {true, false}) {
    // With the trunk there first, as behind a system prompt; or grown by the forking workers themselves, each leaving where it ends so far.
    runs_design fleet(1'025, 1, {});
    const bench_chain one = make_chain(4'096, 4);
    if (trunk_first) store_part(fleet, 1'024, one, 0, 4'096);
    for (std::uint32_t worker = 0; worker < 1'024; ++worker) {
      const std::size_t shared = (worker + 1) * 4;
      store_part(fleet, worker, one, 0, shared);
      const bench_chain own = make_chain(8, 1'000 + worker);
      fleet.store(worker, &one.names[shared - 1], own.names, own.locals);
    }
    time_queries(fleet, {&one}, trunk_first ? 5'000 : 500, trunk_first ? "fork_ns" : "fork_grown_ns", report);
  }
}

void run_holes(bench_report& report) {
  runs_design fleet(16, 1, {});
  const bench_chain one = make_chain(4'096, 5);
  for (std::uint32_t worker = 0; worker < 16; ++worker) store_part(fleet, worker, one, 0, 4'096);
  const double before = time_queries(fleet, {&one}, 5'000, "before_ns", report);
  std::vector<std::size_t> order;
  for (std::size_t i = 128; i < 128 + 3'840; ++i) order.push_back(i);
  std::ranges::shuffle(order, std::mt19937_64(6));
  for (const std::size_t hole : order) fleet.remove(3, {&one.names[hole], 1});
  time_queries(fleet, {&one}, 5'000, "open_ns", report);
  std::ranges::shuffle(order, std::mt19937_64(7));
  for (const std::size_t hole : order) store_part(fleet, 3, one, hole, 1);
  const double healed = time_queries(fleet, {&one}, 5'000, "healed_ns", report);
  report.add("healed_ratio", healed / before);
}

void run_sharing(bench_report& report) {
  {
    const std::size_t before = anonymous_bytes();
    runs_design fleet(1'024, 1, {});
    for (std::uint32_t worker = 0; worker < 1'024; ++worker) {
      for (std::uint64_t i = 0; i < 16; ++i) store_part(fleet, worker, make_chain(1'024, worker * 16 + i + 1'000'000), 0, 1'024);
    }
    report.add("own_chains_bytes_per_entry", static_cast<double>(anonymous_bytes() - before) / static_cast<double>(fleet.entries()));
  }
  const std::size_t before = anonymous_bytes();
  runs_design fleet(128, 1, {});
  for (std::uint64_t i = 0; i < 16; ++i) {
    const bench_chain one = make_chain(1'024, i + 2'000'000);
    for (std::uint32_t worker = 0; worker < 128; ++worker) store_part(fleet, worker, one, 0, 1'024);
  }
  report.add("shared_chains_bytes_per_entry", static_cast<double>(anonymous_bytes() - before) / static_cast<double>(fleet.entries()));
}

}  // namespace kvc::perf
