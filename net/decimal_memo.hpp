// The decimal text of numbers that are asked for again and again.
#pragma once

#include <array>
#include <bit>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <system_error>
#include <vector>

#include "core/mixed_bits.hpp"

namespace kvc::net {

/// The shortest text that reads back as the same double, remembered for some numbers: to find it takes some 60 ns, and from one listing of
/// usage to the next most numbers are what they were. 64 KiB, whatever is asked for; numbers that fall on one place take turns. One owner.
class decimal_memo {
 public:
  /// Valid until the next call. `value` is finite.
  [[nodiscard]] std::string_view text(double value) {
    const auto bits = std::bit_cast<std::uint64_t>(value);
    entry& at = entries_[(bits * core::golden) >> (64 - places_log2)];  // Fibonacci hashing (Knuth, TAOCP 3, 6.4)
    if (at.length == 0 || at.bits != bits) {
      at.bits = bits;
      const std::to_chars_result made = std::to_chars(at.letters.data(), at.letters.data() + at.letters.size(), value);
      at.length = made.ec == std::errc() ? static_cast<std::uint8_t>(made.ptr - at.letters.data()) : std::uint8_t{0};
    }
    return {at.letters.data(), at.length};
  }

 private:
  static constexpr unsigned places_log2 = 11;
  /// No double takes more than 24 letters: a sign, 17 digits, a point and an exponent of up to five.
  struct entry {
    std::uint64_t bits = 0;
    std::array<char, 24> letters;
    std::uint8_t length = 0;  ///< 0: nothing here yet
  };

  std::vector<entry> entries_{std::size_t{1} << places_log2};
};

}  // namespace kvc::net
