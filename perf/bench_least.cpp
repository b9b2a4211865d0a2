#include <algorithm>
#include <cstring>
#include <new>
#include <random>
#include <span>
#include <stdexcept>
#include <sys/mman.h>
#include <vector>

#include "core/large_page.hpp"
#include "core/page_reserve.hpp"
#include "perf/bench_clock.hpp"
#include "perf/bench_design.hpp"
#include "perf/bench_fresh.hpp"
#include "perf/bench_modes.hpp"

namespace kvc::perf {
namespace {

using core::engine_hash;
using core::local_hash;

constexpr std::size_t children = 1'000'000;
constexpr int rounds = 9;

/// Memory that a process shares with those it forks; zeroed and touched.
template <class Element>
class shared_list {
 public:
  explicit shared_list(std::size_t size)
      : size_(size), memory_(::mmap(nullptr, size * sizeof(Element), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {
    if (memory_ == MAP_FAILED) throw std::bad_alloc();
    std::memset(memory_, 0, size * sizeof(Element));
  }
  ~shared_list() { ::munmap(memory_, size_ * sizeof(Element)); }
  shared_list(const shared_list&) = delete;
  shared_list& operator=(const shared_list&) = delete;

  [[nodiscard]] std::span<Element> all() const { return {static_cast<Element*>(memory_), size_}; }

 private:
  std::size_t size_;
  void* memory_;
};

/// What one operation took, in ticks, and the least of the rounds so far.
struct step_times {
  std::uint32_t store = 0;
  std::uint32_t query = 0;
  std::uint32_t least_store = 0xFFFF'FFFF;
  std::uint32_t least_query = 0xFFFF'FFFF;
};

template <class Operation>
std::uint32_t ticks_of(const Operation& operation) {
  const std::uint64_t start = bench_ticks();
  operation();
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(bench_ticks() - start, 0xFFFF'FFFE));
}

/// A block gets its children, and after each of them a query asks for it and for that child.
void grow(std::span<step_times> steps) {
  runs_design fleet(16, 1, {});
  runs_design::answer found;
  std::mt19937_64 random(9);
  std::vector<engine_hash> names;
  std::vector<local_hash> locals;
  for (std::size_t i = 0; i < 4; ++i) {
    names.emplace_back(random());
    locals.emplace_back(random());
  }
  for (std::uint32_t worker = 0; worker < 16; ++worker) fleet.store(worker, nullptr, names, locals);
  locals.emplace_back();
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const engine_hash name{random()};
    locals.back() = local_hash{random()};
    const auto worker = static_cast<std::uint32_t>(i % 16);
    steps[i].store = ticks_of([&] { fleet.store(worker, &names[3], {&name, 1}, {&locals[4], 1}); });
    steps[i].query = ticks_of([&] { fleet.query(locals, found); });
  }
}

/// What lies in the reserve is shared with the process before, and would be copied when it is written to: other pages in its place.
void renew_reserve() {
  while (core::page_reserve_bytes() != 0) ::munmap(core::map_large_pages(core::large_page_bytes), core::large_page_bytes);
  while (core::grow_page_reserve()) {
  }
}

}  // namespace

void run_least(bench_report& report) {
  const shared_list<step_times> shared(children);
  const std::span<step_times> steps = shared.all();
  for (step_times& each : steps) each = step_times{};
  std::vector<std::uint32_t> worst_stores;
  for (int round = 0; round < rounds; ++round) {
    // In a process of its own, so that every round finds memory, addresses and numbers as the others do.
    const auto done = measure_fresh([&] {
      renew_reserve();
      grow(steps);
      return bench_report();
    });
    if (!done) throw std::runtime_error(done.error());
    std::uint32_t worst = 0;
    for (step_times& each : steps) {
      worst = std::max(worst, each.store);
      each.least_store = std::min(each.least_store, each.store);
      each.least_query = std::min(each.least_query, each.query);
    }
    worst_stores.push_back(worst);
  }
  std::ranges::sort(worst_stores);
  std::vector<std::uint32_t> stores;
  std::vector<std::uint32_t> queries;
  const auto nanoseconds = [rate = bench_ns_per_tick()](std::uint32_t ticks) { return static_cast<std::uint32_t>(ticks * rate); };
  for (const step_times& each : steps) {
    stores.push_back(nanoseconds(each.least_store));
    queries.push_back(nanoseconds(each.least_query));
  }
  const auto slowest = std::ranges::max_element(stores) - stores.begin();
  report.add("slowest_child", static_cast<double>(slowest));
  report.add_latencies("least_store_ns", stores);
  report.add_latencies("least_query_ns", queries);
  report.add("worst_store_ns_of_any_round", nanoseconds(worst_stores.back()));
  report.add("worst_store_ns_of_best_round", nanoseconds(worst_stores.front()));
}

}  // namespace kvc::perf
