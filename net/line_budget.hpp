// How many lines of the log one stream may write. Pure.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

namespace kvc::net {

/// Lets some lines through at once and later ones at a slow pace; those kept back are counted, and their number is told in their place.
///
/// Story: every change of a stream is worth a line, but a publisher that restarts or loses batches all the time would fill the disk and
/// bury what is said of the others. From the first line kept back on all are, until `settle` has told how many, so that nothing is written
/// that reads as if it followed the line before it. One owner.
class line_budget {
 public:
  using time_point = std::chrono::steady_clock::time_point;
  static constexpr unsigned at_once = 60;         ///< some eight restarts with all that follows from each
  static constexpr std::chrono::seconds pace{5};  ///< from then on one line each

  /// Whether a line may be written.
  [[nodiscard]] bool take(time_point now) noexcept {
    if (kept_back_ == 0 && spend(now)) return true;
    ++kept_back_;
    return false;
  }

  [[nodiscard]] bool has_kept_back() const noexcept { return kept_back_ != 0; }

  /// How many lines were kept back since the last one written, when it is time to write that.
  [[nodiscard]] std::optional<std::uint64_t> settle(time_point now) noexcept {
    if (kept_back_ == 0 || !spend(now)) return std::nullopt;
    return std::exchange(kept_back_, 0);
  }

 private:
  bool spend(time_point now) noexcept {
    // Lines are counted in the time they stand for: what may be written now is what `free_from_` lies behind.
    const time_point earliest = now - at_once * pace;
    const time_point from = std::max(free_from_, earliest);
    if (from + pace > now) return false;
    free_from_ = from + pace;
    return true;
  }

  time_point free_from_ = time_point::min();
  std::uint64_t kept_back_ = 0;
};

}  // namespace kvc::net
