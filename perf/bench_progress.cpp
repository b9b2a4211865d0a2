#include "perf/bench_progress.hpp"

#include <cstdio>
#include <unistd.h>
#include <utility>

namespace kvc::perf {

bench_progress::bench_progress(std::string what, std::uint64_t total)
    : what_(std::move(what)),
      total_(total),
      is_terminal_(::isatty(STDERR_FILENO) == 1),
      next_(std::chrono::steady_clock::now() + std::chrono::seconds(1)) {}

bench_progress::~bench_progress() {
  if (has_spoken_ && is_terminal_) std::fputs("\r\x1b[K", stderr);
}

void bench_progress::at(std::uint64_t done) {
  // The clock costs more than a short step; one step of 64 asks it.
  if (done % 64 != 0) return;
  const auto now = std::chrono::steady_clock::now();
  if (now < next_) return;
  next_ = now + std::chrono::seconds(is_terminal_ ? 1 : 10);
  has_spoken_ = true;
  std::string line = what_ + ": " + std::to_string(done);
  if (total_ != 0) line += " of " + std::to_string(total_) + " (" + std::to_string(done * 100 / total_) + " %)";
  std::fputs((is_terminal_ ? "\r" + line + "\x1b[K" : line + '\n').c_str(), stderr);
}

}  // namespace kvc::perf
