#include "perf/bench_yardstick.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "perf/bench_clock.hpp"

namespace kvc::perf {
namespace {

constexpr std::size_t words_per_line = 8;

/// Nanoseconds per unit of the fastest of so many rounds.
template <class Work>
double best_of(int repeats, std::size_t units, Work&& work) {
  double best = std::numeric_limits<double>::max();
  for (int run = 0; run < repeats; ++run) {
    const std::uint64_t start = bench_ticks();
    work();
    best = std::min(best, static_cast<double>(bench_ticks() - start) * bench_ns_per_tick() / static_cast<double>(units));
  }
  return best;
}

/// One cycle through every line of 256 MiB in random order (Sattolo's shuffle gives a single cycle).
double dependent_miss(int repeats) {
  constexpr std::size_t lines = (std::size_t{256} << 20) / 64;
  constexpr std::size_t steps = 2'000'000;
  std::mt19937_64 random(11);
  std::vector<std::uint32_t> next(lines);
  for (std::size_t i = 0; i < lines; ++i) next[i] = static_cast<std::uint32_t>(i);
  for (std::size_t i = lines - 1; i > 0; --i) std::swap(next[i], next[random() % i]);
  std::vector<std::uint64_t> memory(lines * words_per_line);
  for (std::size_t i = 0; i < lines; ++i) memory[i * words_per_line] = next[i] * words_per_line;
  std::uint64_t at = 0;
  return best_of(repeats, steps, [&] {
    for (std::size_t i = 0; i < steps; ++i) at = memory[at];
    asm volatile("" : : "r"(at) : "memory");
  });
}

/// Random places of 8 bytes in so many MiB; they are known 16 places before they are needed.
double prefetched_touch(std::size_t mebibytes, int repeats) {
  constexpr std::size_t touches = 4'000'000;
  constexpr std::size_t ahead = 16;
  const std::size_t words = (mebibytes << 20) / 8;
  std::mt19937_64 random(12);
  std::vector<std::uint64_t> memory(words, 1);
  std::vector<std::uint64_t> places(touches + ahead);
  for (auto& place : places) place = random() % words;
  return best_of(repeats, touches, [&] {
    for (std::size_t i = 0; i < touches; ++i) {
      __builtin_prefetch(&memory[places[i + ahead]], 1);
      memory[places[i]] += i;
    }
    asm volatile("" : : "r"(memory.data()) : "memory");
  });
}

/// Two equal arrays, by the library's own compare.
double compare_hashes(std::size_t hashes, int repeats) {
  const std::size_t rounds = std::max<std::size_t>(1, (std::size_t{32} << 20) / hashes);
  const std::vector<std::uint64_t> left(hashes, 5);
  std::vector<std::uint64_t> right(hashes, 5);
  return best_of(repeats, rounds * hashes, [&] {
    for (std::size_t i = 0; i < rounds; ++i) {
      asm volatile("" : : "r"(right.data()) : "memory");  // or one compare would do for all rounds
      int order = std::memcmp(left.data(), right.data(), hashes * sizeof(std::uint64_t));
      asm volatile("" : "+r"(order));
    }
  });
}

}  // namespace

bench_yardstick measure_yardstick(int repeats) {
  bench_yardstick measured;
  measured.touch32 = prefetched_touch(32, repeats);
  measured.touch512 = prefetched_touch(512, repeats);
  measured.miss = dependent_miss(repeats);
  measured.compare = compare_hashes(1'024, repeats);
  measured.compare_cold = compare_hashes(std::size_t{8} << 20, repeats);
  return measured;
}

}  // namespace kvc::perf
