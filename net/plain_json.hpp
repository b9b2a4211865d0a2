// Reads JSON whose shape is known, straight from the bytes, and gives up at the first thing that is not as plain as clients write it.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "net/number_list.hpp"

namespace kvc::net {

/// A position in a text of JSON.
///
/// For bodies that come a thousand times a second and nearly always look the same. What it accepts is JSON and means the same to every
/// reader; what it refuses may still be JSON (escapes, text beyond ASCII, numbers with a point), so that whoever is refused asks a general
/// reader, which also knows what to say about faults. Nothing is copied. One owner; the text outlives it and all views. Pure.
class plain_json {
 public:
  explicit plain_json(std::string_view text) : at_(text.data()), end_(text.data() + text.size()) {}

  /// Steps over `wanted`, blanks before it included.
  [[nodiscard]] bool take(char wanted) noexcept {
    skip_blanks();
    if (at_ == end_ || *at_ != wanted) return false;
    ++at_;
    return true;
  }

  /// A text of plain ASCII.
  [[nodiscard]] bool text(std::string_view& into) noexcept {
    if (!take('"')) return false;
    const char* const begin = at_;
    at_ = end_of_plain();
    if (at_ == end_ || *at_ != '"') return false;
    into = {begin, static_cast<std::size_t>(at_ - begin)};
    ++at_;
    return true;
  }

  /// A whole number of at most 18 digits.
  [[nodiscard]] bool whole(std::int64_t& into) noexcept {
    skip_blanks();
    const bool is_negative = at_ != end_ && *at_ == '-';
    if (is_negative) ++at_;
    const char* const begin = at_;
    std::int64_t value = 0;
    for (; at_ != end_ && *at_ >= '0' && *at_ <= '9'; ++at_) {
      if (at_ - begin == 18) return false;
      value = value * 10 + (*at_ - '0');
    }
    if (at_ == begin || (*begin == '0' && at_ - begin > 1)) return false;
    if (at_ != end_ && (*at_ == '.' || *at_ == 'e' || *at_ == 'E')) return false;
    into = is_negative ? -value : value;
    return true;
  }

  /// A list of whole numbers from 0, of at most 15 digits, appended to a vector of 64-bit numbers. For lists without blanks.
  template <class Numbers>
  [[nodiscard]] bool whole_numbers(Numbers& into) {
    if (!take('[')) return false;
    if (take(']')) return true;
    for (;;) {
      for (std::array<std::uint64_t, 512> some;;) {
        const auto [count, rest] = read_short_numbers(at_, end_, some);
        into.insert(into.end(), some.begin(), some.begin() + static_cast<std::ptrdiff_t>(count));
        at_ = rest;
        if (count + least_room_for_numbers <= some.size()) break;
      }
      std::uint64_t number = 0;
      if (!other_number(number)) return false;
      into.push_back(number);
      if (at_ == end_) return false;
      const char behind = *at_++;
      if (behind == ']') return true;
      if (behind != ',') return false;
    }
  }

  /// An object: `member(name)` reads the value of each and says whether it could.
  template <class Member>
  [[nodiscard]] bool object(Member member) {
    if (!take('{')) return false;
    if (take('}')) return true;
    do {
      std::string_view name;
      if (!text(name) || !take(':') || !member(name)) return false;
    } while (take(','));
    return take('}');
  }

  /// A list: `element()` reads each and says whether it could.
  template <class Element>
  [[nodiscard]] bool list(Element element) {
    if (!take('[')) return false;
    if (take(']')) return true;
    do {
      if (!element()) return false;
    } while (take(','));
    return take(']');
  }

  /// Nothing but blanks is left.
  [[nodiscard]] bool is_at_end() noexcept {
    skip_blanks();
    return at_ == end_;
  }

 private:
  void skip_blanks() noexcept {
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\r' || *at_ == '\t')) ++at_;
  }

  /// The first byte from here on that ends a plain text or may not be in one: a quote, a backslash, a control byte, or beyond ASCII.
  [[nodiscard]] const char* end_of_plain() const noexcept {
    const char* at = at_;
    if constexpr (std::endian::native == std::endian::little) {
      // Eight bytes at a time. (Source of the tests for a byte: S. E. Anderson, "Bit Twiddling Hacks", public domain; a byte above a hit
      // may be marked wrongly, the lowest mark is right.)
      constexpr std::uint64_t ones = 0x0101010101010101;
      constexpr std::uint64_t highs = 0x8080808080808080;
      for (; end_ - at >= 8; at += 8) {
        std::uint64_t word = 0;
        std::memcpy(&word, at, sizeof(word));
        const std::uint64_t quote = word ^ ones * '"';
        const std::uint64_t backslash = word ^ ones * '\\';
        const std::uint64_t marks =
            (((quote - ones) & ~quote) | ((backslash - ones) & ~backslash) | ((word - ones * 0x20) & ~word) | word) & highs;
        if (marks != 0) return at + std::countr_zero(marks) / 8;
      }
    }
    while (at != end_ && *at != '"' && *at != '\\' && static_cast<unsigned char>(*at) >= 0x20 && static_cast<unsigned char>(*at) < 0x80)
      ++at;
    return at;
  }

  /// One that `read_short_numbers` left: the last, or a long one.
  [[nodiscard]] bool other_number(std::uint64_t& into) noexcept {
    const char* const begin = at_;
    into = 0;
    for (; at_ != end_ && *at_ >= '0' && *at_ <= '9'; ++at_) {
      if (at_ - begin == 15) return false;
      into = into * 10 + static_cast<std::uint64_t>(*at_ - '0');
    }
    return at_ != begin && (*begin != '0' || at_ - begin == 1);
  }

  const char* at_;
  const char* end_;
};

/// Remembers which members an object has had, each once.
class members_seen {
 public:
  /// False when it was there before.
  [[nodiscard]] bool add(unsigned member) noexcept {
    const std::uint32_t bit = 1U << member;
    const bool is_new = (seen_ & bit) == 0;
    seen_ |= bit;
    return is_new;
  }
  [[nodiscard]] bool has_first(unsigned count) const noexcept { return (seen_ & ((1U << count) - 1)) == (1U << count) - 1; }

 private:
  std::uint32_t seen_ = 0;
};

}  // namespace kvc::net
