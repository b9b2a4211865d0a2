// Tells a waiting person how far a long piece of work is.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace kvc::perf {

/// Writes lines to standard error: the first after a second, then one per second on a terminal (in place) and one per ten elsewhere. Work
/// that takes less than a second says nothing. One owner, one thread.
class bench_progress {
 public:
  /// `total` steps, 0 when nobody knows.
  bench_progress(std::string what, std::uint64_t total);
  ~bench_progress();
  bench_progress(const bench_progress&) = delete;
  bench_progress& operator=(const bench_progress&) = delete;

  /// `done` steps are behind us. Cheap enough for every step.
  void at(std::uint64_t done);

 private:
  std::string what_;
  std::uint64_t total_;
  bool is_terminal_;
  bool has_spoken_ = false;
  std::chrono::steady_clock::time_point next_;
};

}  // namespace kvc::perf
