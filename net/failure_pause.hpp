// How long something that has failed is left alone before it is tried again.
#pragma once

#include <algorithm>
#include <chrono>

namespace kvc::net {

/// Pauses between tries that get longer with each failure: what is wanting may be wanting for long, and each try costs others their time.
/// Work that lasted longer than the longest pause has recovered from what came before. One owner; pure.
class failure_pause {
 public:
  using milliseconds = std::chrono::milliseconds;

  static constexpr milliseconds usual_longest{30'000};

  /// `shortest`: above 0; the pause behind the first failure, and the longest one if it is longer than that usually is.
  explicit failure_pause(milliseconds shortest) : failure_pause(shortest, usual_longest) {}
  failure_pause(milliseconds shortest, milliseconds longest)
      : shortest_(shortest), longest_(std::max(shortest, longest)), next_(shortest) {}

  /// After a failure of work that has lasted so long.
  [[nodiscard]] milliseconds next(std::chrono::steady_clock::duration lasted) noexcept {
    if (lasted > longest_) next_ = shortest_;
    const milliseconds now = next_;
    next_ = std::min(2 * next_, longest_);
    return now;
  }
  /// It has gone well.
  void reset() noexcept { next_ = shortest_; }

 private:
  milliseconds shortest_;
  milliseconds longest_;
  milliseconds next_;
};

}  // namespace kvc::net
