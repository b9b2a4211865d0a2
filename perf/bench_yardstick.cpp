#include "perf/bench_yardstick.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "perf/bench_clock.hpp"

namespace kvc::perf {
namespace {

constexpr std::size_t words_per_line = 8;

/// One cycle through every line of 256 MiB in random order (Sattolo's shuffle gives a single cycle).
double dependent_miss(int repeats) {
  constexpr std::size_t lines = (std::size_t{256} << 20) / 64;
  constexpr std::size_t steps = 1'000'000;
  std::mt19937_64 random(11);
  std::vector<std::uint32_t> next(lines);
  for (std::size_t i = 0; i < lines; ++i) next[i] = static_cast<std::uint32_t>(i);
  for (std::size_t i = lines - 1; i > 0; --i) std::swap(next[i], next[random() % i]);
  std::vector<std::uint64_t> memory(lines * words_per_line);
  for (std::size_t i = 0; i < lines; ++i) memory[i * words_per_line] = next[i] * words_per_line;
  double best = std::numeric_limits<double>::max();
  std::uint64_t at = 0;
  for (int run = 0; run < repeats; ++run) {
    const std::uint64_t start = bench_ticks();
    for (std::size_t i = 0; i < steps; ++i) at = memory[at];
    asm volatile("" : : "r"(at) : "memory");
    best = std::min(best, static_cast<double>(bench_ticks() - start) * bench_ns_per_tick() / static_cast<double>(steps));
  }
  return best;
}

double prefetched_touch(int repeats) {
  constexpr std::size_t words = (std::size_t{512} << 20) / 8;
  constexpr std::size_t touches = 4'000'000;
  constexpr std::size_t ahead = 16;
  std::mt19937_64 random(12);
  std::vector<std::uint64_t> memory(words, 1);
  std::vector<std::uint32_t> places(touches + ahead);
  for (auto& place : places) place = static_cast<std::uint32_t>(random() % words);
  double best = std::numeric_limits<double>::max();
  for (int run = 0; run < repeats; ++run) {
    const std::uint64_t start = bench_ticks();
    for (std::size_t i = 0; i < touches; ++i) {
      __builtin_prefetch(&memory[places[i + ahead]], 1);
      memory[places[i]] += i;
    }
    asm volatile("" : : "r"(memory.data()) : "memory");
    best = std::min(best, static_cast<double>(bench_ticks() - start) * bench_ns_per_tick() / static_cast<double>(touches));
  }
  return best;
}

}  // namespace

bench_yardstick measure_yardstick(int repeats) {
  bench_yardstick measured;
  measured.touch512 = prefetched_touch(repeats);
  measured.miss = dependent_miss(repeats);
  return measured;
}

}  // namespace kvc::perf
