// How long one call of something small takes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "perf/bench_clock.hpp"

namespace kvc::perf {

/// Nanoseconds of CPU per call of `work` over some `milliseconds`: the thread's CPU time, so that a busy machine is seen in its caches and
/// in the other half of its core alone.
template <class Work>
[[nodiscard]] double micro_ns(double milliseconds, Work work) {
  const auto round_ns = static_cast<std::uint64_t>(milliseconds * 1e6);
  work();  // memory is there, pages are mapped
  for (std::uint64_t calls = 1;;) {
    const std::uint64_t start = bench_cpu_ns();
    for (std::uint64_t i = 0; i < calls; ++i) work();
    const std::uint64_t took = bench_cpu_ns() - start;
    if (took * 2 >= round_ns) return static_cast<double>(took) / static_cast<double>(calls);
    // Too few calls: as many as are wanted, and some.
    calls = std::min(took == 0 ? calls * 16 : calls * round_ns / took + 1, calls * 16);
  }
}

/// Several pieces of work that are to be compared, in turn: the least of five rounds of each, since disturbance only ever adds, and what
/// lasts longer than a round disturbs all of them.
class micro_rounds {
 public:
  static constexpr int rounds = 5;

  /// `milliseconds` for each piece of work in all.
  explicit micro_rounds(std::uint32_t milliseconds) : milliseconds_(static_cast<double>(milliseconds) / rounds) {}

  void add(std::string name, std::function<void()> work) { works_.push_back({std::move(name), std::move(work)}); }

  /// Nanoseconds of each, by name.
  [[nodiscard]] std::map<std::string, double> run() const {
    std::map<std::string, double> least;
    for (int round = 0; round < rounds; ++round) {
      for (const auto& [name, work] : works_) {
        const double took = micro_ns(milliseconds_, work);
        const auto [found, is_new] = least.emplace(name, took);
        if (!is_new) found->second = std::min(found->second, took);
      }
    }
    return least;
  }

 private:
  double milliseconds_;
  std::vector<std::pair<std::string, std::function<void()>>> works_;
};

/// Keeps the optimiser from leaving out what computes `value`.
template <class Value>
inline void micro_keep(const Value& value) noexcept {
  asm volatile("" : : "g"(&value) : "memory");
}

}  // namespace kvc::perf
