// Which of many shortages in a row are worth a line in the log. Pure.
#pragma once

#include <bit>
#include <chrono>
#include <cstdint>
#include <optional>

namespace kvc::net {

/// Tells of a shortage at first and at every doubling, since one that lasts is met many times a second. After a while without any, the next
/// one is news again. One owner.
class shortage_news {
 public:
  using time_point = std::chrono::steady_clock::time_point;
  static constexpr std::chrono::seconds calm{10};

  /// Which one in a row it is, when that is worth a line.
  [[nodiscard]] std::optional<std::uint64_t> on_shortage(time_point now) noexcept {
    if (now - last_ >= calm) times_ = 0;
    last_ = now;
    if (!std::has_single_bit(++times_)) return std::nullopt;
    return times_;
  }

 private:
  time_point last_;
  std::uint64_t times_ = 0;
};

}  // namespace kvc::net
