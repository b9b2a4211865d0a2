// Reads JSON whose shape is known, straight from the bytes, and gives up at the first thing that is not as plain as clients write it.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "net/number_list.hpp"
#include "net/plain_numbers.hpp"

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

  /// A list of whole numbers from 0, of at most 15 digits, appended to a vector of 64-bit numbers. For lists without blanks, but for one
  /// behind a comma, where most writers have one.
  template <class Numbers>
  [[nodiscard]] bool whole_numbers(Numbers& into) {
    return short_numbers([&into](std::span<const std::uint64_t> some) {
      into.insert(into.end(), some.begin(), some.end());
      return true;
    });
  }
  /// The same; `add(some numbers)` says whether it wants them.
  template <class Add>
  [[nodiscard]] bool short_numbers(Add add) {
    if (!take('[')) return false;
    if (take(']')) return true;
    const list_style style = style_of_list();
    for (std::array<std::uint64_t, 512> some;;) {
      const numbers_read many = read_short_numbers(at_, end_, style, some);
      at_ = many.rest;
      if (!add(std::span<const std::uint64_t>(some).first(many.count))) return false;
      if (many.count > 0) skip_one_blank();
      if (many.count + least_room_for_numbers > some.size()) continue;
      // The last one, or a long one.
      if (!short_number(at_, end_, some[0]) || !add(std::span<const std::uint64_t>(some).first(1)) || at_ == end_) return false;
      const char behind = *at_++;
      if (behind == ']') return true;
      if (behind != ',') return false;
      skip_one_blank();
    }
  }
  /// The same for any numbers that fit 64 bits.
  template <class Add>
  [[nodiscard]] bool long_numbers(Add add) {
    return numbers([](const char*& at, const char* end, std::uint64_t& into) { return long_number(at, end, into); }, add);
  }

  /// What comes next, blanks stepped over; 0 at the end. A byte of 0 in the text is as good as its end.
  [[nodiscard]] char next() noexcept {
    skip_blanks();
    return at_ == end_ ? '\0' : *at_;
  }

  /// The words true and false.
  [[nodiscard]] bool boolean(bool& into) noexcept {
    skip_blanks();
    const std::string_view rest(at_, static_cast<std::size_t>(end_ - at_));
    into = rest.starts_with("true");
    if (!into && !rest.starts_with("false")) return false;
    at_ += into ? 4 : 5;
    return true;
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
  template <class Read, class Add>
  [[nodiscard]] bool numbers(Read read, Add add) {
    if (!take('[')) return false;
    if (take(']')) return true;
    for (;;) {
      std::uint64_t number = 0;
      if (!read(at_, end_, number) || !add(number) || at_ == end_) return false;
      const char behind = *at_++;
      if (behind == ']') return true;
      if (behind != ',') return false;
      skip_one_blank();
    }
  }

  void skip_one_blank() noexcept {
    if (at_ != end_ && *at_ == ' ') ++at_;
  }

  /// As behind the first number.
  [[nodiscard]] list_style style_of_list() const noexcept {
    const char* at = at_;
    while (at != end_ && *at >= '0' && *at <= '9') ++at;
    return end_ - at > 1 && at[0] == ',' && at[1] == ' ' ? list_style::blank_behind_comma : list_style::dense;
  }

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

  const char* at_;
  const char* end_;
};

/// Remembers which members an object has had, each once.
class members_seen {
 public:
  /// False when it was there before.
  [[nodiscard]] bool add(unsigned member) noexcept {
    const std::uint64_t bit = std::uint64_t{1} << member;
    const bool is_new = (seen_ & bit) == 0;
    seen_ |= bit;
    return is_new;
  }
  [[nodiscard]] bool has_first(unsigned count) const noexcept {
    return (seen_ & ((std::uint64_t{1} << count) - 1)) == (std::uint64_t{1} << count) - 1;
  }

 private:
  std::uint64_t seen_ = 0;
};

}  // namespace kvc::net
