// Whether an event is the same as another one but for the name in it.
#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "net/same_bytes.hpp"

namespace kvc::net {

/// The bytes of an event of which a stretch, the name, may be others.
///
/// Why: an engine that evicts says so with an event per block, often hundreds in a row that differ in eight bytes. Compared in two parts,
/// before the name and behind it, each took a lane 109 instructions in all; 80 where all of it but the name is compared at once, sixteen
/// bytes at a time. Owner: one decoder at work; copies what it is given.
class event_pattern {
 public:
  static constexpr std::size_t fewest_bytes = 16;
  static constexpr std::size_t most_bytes = 128;
  static constexpr std::size_t gap_bytes = 8;  ///< a name of full width, behind its format

  /// `gap`: where the name's bytes begin in the event. Precondition: `length` is within the bounds above, and the gap within the event.
  event_pattern(const unsigned char* event, std::size_t length, std::size_t gap) noexcept
      : last_at_(length - sizeof(sixteen_bytes)), first_ones_((length - 1) / sizeof(sixteen_bytes)) {
    assert(length >= fewest_bytes && length <= most_bytes && gap + gap_bytes <= length);
    const unsigned char* const counts = all_but_gap.data() + (most_bytes - gap);
    for (std::size_t i = 0; i < first_ones_; ++i) pieces_[i].set(event, counts, i * sizeof(sixteen_bytes));
    last_.set(event, counts, last_at_);
  }

  /// Whether the event at `at` is like it. Precondition: as many bytes stand there as it has. Pure.
  [[nodiscard]] bool is_met_by(const unsigned char* at) const noexcept {
    sixteen_bytes differ = last_.differs(at + last_at_);
    for (std::size_t i = 0; i < first_ones_; ++i) differ |= pieces_[i].differs(at + i * sizeof(sixteen_bytes));
    return is_zero(differ);
  }

 private:
  /// Which bytes count, of an event whose gap begins at the middle: any other's is a part of it. Written down, not made for each pattern: a
  /// load of sixteen bytes waits for all stores before it where they come from several.
  static constexpr auto all_but_gap = [] {
    std::array<unsigned char, 2 * most_bytes + gap_bytes> counts{};
    counts.fill(0xff);
    std::fill_n(counts.begin() + most_bytes, gap_bytes, std::uint8_t{0});
    return counts;
  }();

  struct piece {
    sixteen_bytes bytes;
    sixteen_bytes counts;  ///< which of their bits are to be the same

    void set(const unsigned char* event, const unsigned char* all_counts, std::size_t at) noexcept {
      std::memcpy(&bytes, event + at, sizeof bytes);
      std::memcpy(&counts, all_counts + at, sizeof counts);
    }
    [[nodiscard]] sixteen_bytes differs(const unsigned char* at) const noexcept {
      sixteen_bytes here;
      std::memcpy(&here, at, sizeof here);
      return (here ^ bytes) & counts;
    }
  };

  std::size_t last_at_;     ///< where the last sixteen bytes begin, which overlap those before them
  std::size_t first_ones_;  ///< how many pieces there are before the last
  piece last_;
  std::array<piece, most_bytes / sizeof(sixteen_bytes) - 1> pieces_;
};

}  // namespace kvc::net
