// What it takes to ask for cache lines by the dozen, by how much memory they lie in. That is what large tables wait for, and it tells
// whether the machine keeps large pages as such.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <random>
#include <string>
#include <vector>

#include "core/bring_near.hpp"
#include "core/large_page.hpp"
#include "perf/bench_clock.hpp"
#include "perf/bench_modes.hpp"

namespace kvc::perf {
namespace {

constexpr std::size_t line_bytes = 64;
constexpr std::size_t together = 16;  ///< lines of a burst that lie in one area, where it is asked for in areas
constexpr std::size_t burst = 32;     // as many as the table of names asks for at once
constexpr int bursts = 10'000;
constexpr std::uint64_t pause_ticks = 2'000;  ///< of other work before and after each burst, in which nothing is asked for

/// Waits for what was begun before it.
void settle() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_lfence();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");
#endif
}

std::uint64_t settled_ticks() noexcept {
  settle();
  const std::uint64_t now = bench_ticks();
  settle();
  return now;
}

void pause() noexcept {
  const std::uint64_t began = bench_ticks();
  while (bench_ticks() - began < pause_ticks) continue;
}

double median(std::vector<std::uint64_t>& ticks) {
  const auto middle = ticks.begin() + static_cast<std::ptrdiff_t>(ticks.size() / 2);
  std::nth_element(ticks.begin(), middle, ticks.end());
  return static_cast<double>(*middle) * bench_ns_per_tick() / static_cast<double>(burst);
}

/// Lines of `memory`, `together` of which lie in one area of `area` bytes; anywhere when that is all of it.
void choose(std::byte* memory, std::size_t bytes, std::size_t area, std::mt19937_64& random, std::array<std::byte*, burst>& lines) {
  std::byte* from = memory;
  for (std::size_t i = 0; i < burst; ++i) {
    if (i % together == 0) from = memory + random() % (bytes / area) * area;
    lines[i] = from + random() % (area / line_bytes) * line_bytes;
  }
}

void measure(std::byte* memory, std::size_t bytes, std::size_t area, const std::string& name, bench_report& report) {
  std::mt19937_64 random(20'261'126);
  std::array<std::byte*, burst> lines;
  std::vector<std::uint64_t> ask;
  std::vector<std::uint64_t> use;
  for (int i = 0; i < bursts; ++i) {
    choose(memory, bytes, area, random, lines);
    pause();
    const std::uint64_t began = settled_ticks();
    for (std::byte* const line : lines) core::bring_within_reach(line);
    ask.push_back(settled_ticks() - began);
    pause();
    const std::uint64_t asked = settled_ticks();
    for (std::byte* const line : lines) {
      auto* const value = reinterpret_cast<volatile std::uint64_t*>(line);
      *value = *value + 1;
    }
    use.push_back(settled_ticks() - asked);
  }
  report.add("ask_" + name + "_ns", median(ask));
  report.add("use_" + name + "_ns", median(use));
}

}  // namespace

void run_bursts(bench_report& report) {
  for (const std::size_t mebibytes :
       {std::size_t{8}, std::size_t{24}, std::size_t{64}, std::size_t{128}, std::size_t{256}, std::size_t{512}}) {
    const std::size_t bytes = mebibytes << 20;
    void* const memory = core::map_large_pages(bytes);
    if (memory == nullptr) throw std::bad_alloc();
    std::memset(memory, 1, bytes);
    const std::string name = std::to_string(mebibytes) + "_mib";
    auto* const lines = static_cast<std::byte*>(memory);
    measure(lines, bytes, bytes, name, report);
    measure(lines, bytes, std::size_t{4} << 10, name + "_by_4_kib", report);
    measure(lines, bytes, std::size_t{32} << 10, name + "_by_32_kib", report);
    measure(lines, bytes, std::size_t{2} << 20, name + "_by_2_mib", report);
    core::unmap_large_pages(memory, bytes);
  }
}

}  // namespace kvc::perf
