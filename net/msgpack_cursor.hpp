// A place in MessagePack bytes, and the few values that are read there without a tape.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "net/big_endian.hpp"

namespace kvc::net {

/// Walks over bytes that may be anything. Every member that answers false has found something else than it was asked for, or the end, and
/// where the cursor stands then means nothing. What is taken is what `msgpack_tape` would make of the same bytes. Pure; one owner.
/// (Source: the MessagePack specification, "Formats".)
class msgpack_cursor {
 public:
  explicit msgpack_cursor(std::span<const std::byte> bytes) noexcept
      : at_(reinterpret_cast<const unsigned char*>(bytes.data())), end_(at_ + bytes.size()) {}

  [[nodiscard]] const unsigned char* at() const noexcept { return at_; }
  [[nodiscard]] const unsigned char* end() const noexcept { return end_; }
  [[nodiscard]] std::size_t left() const noexcept { return static_cast<std::size_t>(end_ - at_); }
  /// Precondition: between `at()` and `end()`.
  void go_to(const unsigned char* where) noexcept { at_ = where; }

  [[nodiscard]] bool take_nil() noexcept {
    if (at_ == end_ || *at_ != 0xc0) return false;
    ++at_;
    return true;
  }

  [[nodiscard]] bool take_text(std::string_view& text) noexcept {
    if (at_ == end_) return false;
    const unsigned char format = *at_++;
    std::uint64_t length = format & 0x1fU;
    if (format == 0xd9) {
      if (!take_word<std::uint8_t>(length)) return false;
    } else if (format < 0xa0 || format > 0xbf) {
      return false;
    }
    if (left() < length) return false;
    text = {reinterpret_cast<const char*>(at_), static_cast<std::size_t>(length)};
    at_ += length;
    return true;
  }

  /// The head of an array; `length` is what it claims.
  [[nodiscard]] bool take_array(std::uint64_t& length) noexcept { return take_head(0x90, 0xdc, length); }
  /// The head of a map; `length` is the number of its pairs.
  [[nodiscard]] bool take_map(std::uint64_t& length) noexcept { return take_head(0x80, 0xde, length); }

  /// An integer of any width. `bits` is its two's complement.
  [[nodiscard]] bool take_integer(std::uint64_t& bits, bool& is_negative) noexcept {
    if (at_ == end_) return false;
    const unsigned char format = *at_++;
    is_negative = false;
    bits = format;
    if (format <= 0x7f) return true;
    if (format >= 0xe0) return sign<std::int8_t>(bits, is_negative);
    switch (format) {
      case 0xcc: return take_word<std::uint8_t>(bits);
      case 0xcd: return take_word<std::uint16_t>(bits);
      case 0xce: return take_word<std::uint32_t>(bits);
      case 0xcf: return take_word<std::uint64_t>(bits);
      case 0xd0: return take_word<std::uint8_t>(bits) && sign<std::int8_t>(bits, is_negative);
      case 0xd1: return take_word<std::uint16_t>(bits) && sign<std::int16_t>(bits, is_negative);
      case 0xd2: return take_word<std::uint32_t>(bits) && sign<std::int32_t>(bits, is_negative);
      case 0xd3: return take_word<std::uint64_t>(bits) && sign<std::int64_t>(bits, is_negative);
      default: return false;
    }
  }

  /// An integer in 0 .. 2^32-1.
  [[nodiscard]] bool take_u32(std::uint32_t& number) noexcept {
    std::uint64_t bits = 0;
    bool is_negative = false;
    if (!take_integer(bits, is_negative) || is_negative || bits > ~std::uint32_t{0}) return false;
    number = static_cast<std::uint32_t>(bits);
    return true;
  }

  /// A number with eight bytes for its fraction.
  [[nodiscard]] bool take_real(double& number) noexcept {
    std::uint64_t bits = 0;
    if (at_ == end_ || *at_ != 0xcb) return false;
    ++at_;
    if (!take_word<std::uint64_t>(bits)) return false;
    number = std::bit_cast<double>(bits);
    return true;
  }

  /// Any value that contains no other: nil, truth, number, short text.
  [[nodiscard]] bool skip_scalar() noexcept {
    if (at_ == end_) return false;
    if (*at_ == 0xc0 || *at_ == 0xc2 || *at_ == 0xc3) {
      ++at_;
      return true;
    }
    if (*at_ == 0xd9 || (*at_ >= 0xa0 && *at_ <= 0xbf)) {
      std::string_view text;
      return take_text(text);
    }
    double real = 0;
    if (*at_ == 0xcb) return take_real(real);
    std::uint64_t bits = 0;
    bool is_negative = false;
    return take_integer(bits, is_negative);
  }

 private:
  template <class Word>
  bool take_word(std::uint64_t& into) noexcept {
    if (left() < sizeof(Word)) return false;
    into = big_endian_at<Word>(at_);
    at_ += sizeof(Word);
    return true;
  }

  template <class Signed>
  static bool sign(std::uint64_t& bits, bool& is_negative) noexcept {
    const auto value = static_cast<Signed>(bits);
    is_negative = value < 0;
    bits = static_cast<std::uint64_t>(std::int64_t{value});
    return true;
  }

  /// `few` is the format of an empty one whose length is in the format, `many` that of one with its length in two bytes; four come next.
  bool take_head(unsigned char few, unsigned char many, std::uint64_t& length) noexcept {
    if (at_ == end_) return false;
    const unsigned char format = *at_++;
    length = format & 0x0fU;
    if ((format & 0xf0U) == few) return true;
    if (format == many) return take_word<std::uint16_t>(length);
    return format == many + 1 && take_word<std::uint32_t>(length);
  }

  const unsigned char* at_;
  const unsigned char* end_;
};

}  // namespace kvc::net
