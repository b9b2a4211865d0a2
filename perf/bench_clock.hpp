// A clock cheap enough to time single operations of some hundred nanoseconds.
#pragma once

#include <chrono>
#include <cstdint>
#include <time.h>

namespace kvc::perf {

/// Ticks of a constant-rate counter: the time stamp counter on x86-64, the virtual counter on arm64, the steady clock elsewhere.
[[nodiscard]] inline std::uint64_t bench_ticks() noexcept {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
  std::uint64_t ticks;
  asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
  return ticks;
#else
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
#endif
}

/// Nanoseconds of CPU this thread has used. Where it is less than the time that passed, the machine was busy with other work.
[[nodiscard]] inline std::uint64_t bench_cpu_ns() noexcept {
  timespec used{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return static_cast<std::uint64_t>(used.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(used.tv_nsec);
}

/// Nanoseconds per tick, measured once against the steady clock over 20 ms.
[[nodiscard]] inline double bench_ns_per_tick() {
  static const double rate = [] {
    const auto start = std::chrono::steady_clock::now();
    const std::uint64_t first = bench_ticks();
    auto now = start;
    while (now - start < std::chrono::milliseconds(20)) now = std::chrono::steady_clock::now();
    return std::chrono::duration<double, std::nano>(now - start).count() / static_cast<double>(bench_ticks() - first);
  }();
  return rate;
}

}  // namespace kvc::perf
