// Digits to numbers, many digits at a time.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

namespace kvc::net {

/// How many of the eight bytes at `at` are digits from the first on, 8 when all are; `word` is their values, to be used by `value_of`. The
/// lowest byte of the word is the first digit.
[[nodiscard]] inline int leading_digits(const char* at, std::uint64_t& word) noexcept {
  std::memcpy(&word, at, sizeof(word));
  word -= 0x3030303030303030;  // digits become 0 to 9; a borrow reaches later bytes only
  const std::uint64_t others = (word | (word + 0x7676767676767676)) & 0x8080808080808080;  // the lowest mark is right
  return others == 0 ? 8 : std::countr_zero(others) / 8;
}

/// The number of eight digits. (The usual way: neighbours are joined, then pairs, then fours.)
[[nodiscard]] inline std::uint64_t value_of(std::uint64_t word) noexcept {
  word = (word * 10 + (word >> 8)) & 0x00FF00FF00FF00FF;
  word = (word * 100 + (word >> 16)) & 0x0000FFFF0000FFFF;
  return (word * 10'000 + (word >> 32)) & 0xFFFFFFFF;
}

/// Reads a whole number from 0 of at most 15 digits and steps behind it. False: there is none, or it has a leading zero. Up to seven digits
/// go without a branch per digit: no branch can foretell how long a token is. Pure.
[[nodiscard]] inline bool short_number(const char*& at, const char* end, std::uint64_t& into) noexcept {
  const char* const begin = at;
  if constexpr (std::endian::native == std::endian::little) {
    std::uint64_t word = 0;
    if (end - at >= 8) {
      const int digits = leading_digits(at, word);
      if (digits < 8) {
        if (digits == 0 || (*begin == '0' && digits > 1)) return false;
        into = value_of(word << (64 - 8 * digits));  // as if zeros stood before it
        at += digits;
        return true;
      }
    }
  }
  into = 0;
  for (; at != end && *at >= '0' && *at <= '9'; ++at) {
    if (at - begin == 15) return false;
    into = into * 10 + static_cast<std::uint64_t>(*at - '0');
  }
  return at != begin && (*begin != '0' || at - begin == 1);
}

/// The same for any number that fits 64 bits: sequence hashes have 19 or 20 digits as a rule. Pure.
[[nodiscard]] inline bool long_number(const char*& at, const char* end, std::uint64_t& into) noexcept {
  constexpr std::uint64_t most = ~std::uint64_t{0};
  const char* const begin = at;
  std::uint64_t value = 0;
  if constexpr (std::endian::native == std::endian::little) {
    std::uint64_t word = 0;
    for (int round = 0; round < 2 && end - at >= 8 && leading_digits(at, word) == 8; ++round, at += 8) {
      value = value * 100'000'000 + value_of(word);
    }
  }
  for (; at != end && *at >= '0' && *at <= '9'; ++at) {
    const auto digit = static_cast<std::uint64_t>(*at - '0');
    if (value > most / 10 || (value == most / 10 && digit > most % 10)) return false;
    value = value * 10 + digit;
  }
  into = value;
  return at != begin && (*begin != '0' || at - begin == 1);
}

}  // namespace kvc::net
