#include "core/hex.hpp"

#include <bit>
#include <cstdint>
#include <cstring>

namespace kvc::core {
namespace {

/// Values of digits; 16 to 255 for whatever is none. Tables, since nothing about a hash can be foretold by a branch.
using digit_table = std::array<std::uint8_t, 256>;

constexpr std::uint8_t no_digit = 0x80;
constexpr std::uint8_t blank = 0x81;

constexpr digit_table make_table(bool with_upper) {
  digit_table table{};
  table.fill(no_digit);
  for (std::uint8_t i = 0; i < 10; ++i) table[static_cast<std::size_t>('0' + i)] = i;
  for (std::uint8_t i = 0; i < 6; ++i) {
    table[static_cast<std::size_t>('a' + i)] = static_cast<std::uint8_t>(10 + i);
    if (with_upper) table[static_cast<std::size_t>('A' + i)] = static_cast<std::uint8_t>(10 + i);
  }
  for (const char each : {' ', '\t', '\n', '\v', '\f', '\r'}) table[static_cast<std::size_t>(each)] = blank;
  return table;
}

constexpr digit_table either_case = make_table(true);
constexpr digit_table lower_case = make_table(false);

unsigned value(const digit_table& table, char letter) noexcept {
  return table[static_cast<unsigned char>(letter)];
}

constexpr std::size_t digits_at_once = 8;

/// Eight digits to four bytes at once, without a table: a pair of digits a byte would be two loads and two tests. False when one of them is
/// no lower-case digit (`with_upper`: of either case), and then nothing is said about `to`.
template <bool with_upper>
bool eight_digits(const char* at, char* to) noexcept {
  constexpr std::uint64_t every = 0x0101'0101'0101'0101;
  if constexpr (std::endian::native != std::endian::little) return false;
  std::uint64_t text = 0;
  std::memcpy(&text, at, sizeof(text));
  if constexpr (with_upper) text |= (text & every * 0x40) >> 1;  // letters to lower case, digits as they are
  const std::uint64_t is_letter = text >> 6 & every;
  const std::uint64_t values = (text & every * 0x0F) + is_letter * 9;
  // Right if they are four bits each, which letters beyond the sixth are not, and are written as they were read.
  const std::uint64_t is_above_nine = (values + every * 6) >> 4 & every;
  if ((values & every * 0xF0) != 0 || values + every * '0' + is_above_nine * ('a' - '0' - 10) != text) return false;
  std::uint64_t pairs = (values << 4 | values >> 8) & 0x00FF'00FF'00FF'00FF;
  pairs = (pairs | pairs >> 8) & 0x0000'FFFF'0000'FFFF;
  const auto bytes = static_cast<std::uint32_t>(pairs | pairs >> 16);
  std::memcpy(to, &bytes, sizeof(bytes));
  return true;
}

}  // namespace

result<void> decode_hex(std::string_view hex, std::string& out) {
  const std::size_t before = out.size();
  out.resize(before + hex.size() / 2);  // all it can be; written in place, since a check per byte would cost more than the byte
  char* to = out.data() + before;
  for (std::size_t i = 0; i < hex.size();) {
    if (hex.size() - i >= digits_at_once && eight_digits<true>(hex.data() + i, to)) {
      i += digits_at_once;
      to += digits_at_once / 2;
      continue;
    }
    const unsigned high = value(either_case, hex[i]);
    if (high == blank) {
      ++i;
      continue;
    }
    const unsigned low = i + 1 < hex.size() ? value(either_case, hex[i + 1]) : no_digit;
    if ((high | low) > 15) {
      out.resize(before);
      return make_error_code(errc::hash_not_hex);
    }
    *to++ = static_cast<char>(high << 4 | low);
    i += 2;
  }
  out.resize(static_cast<std::size_t>(to - out.data()));
  return {};
}

void append_hex(std::string_view bytes, std::string& out) {
  constexpr std::string_view digits = "0123456789abcdef";
  const std::size_t before = out.size();
  out.resize(before + 2 * bytes.size());
  char* to = out.data() + before;
  for (const char each : bytes) {
    const auto byte = static_cast<unsigned char>(each);
    *to++ = digits[byte >> 4];
    *to++ = digits[byte & 15];
  }
}

packed_text::packed_text(std::string_view text) noexcept : bytes_(text) {
  if (text.empty() || text.size() % 2 != 0 || text.size() / 2 > longest) return;
  unsigned all = 0;
  std::size_t i = 0;
  for (; text.size() - i >= digits_at_once; i += digits_at_once) {
    if (!eight_digits<false>(text.data() + i, room_.data() + i / 2)) return;
  }
  for (; i < text.size(); i += 2) {
    const unsigned high = value(lower_case, text[i]);
    const unsigned low = value(lower_case, text[i + 1]);
    all |= high | low;
    room_[i / 2] = static_cast<char>(high << 4 | low);
  }
  if (all > 15) return;
  bytes_ = {room_.data(), text.size() / 2};
  is_hex_ = true;
}

std::string unpacked(std::string_view bytes, bool is_hex) {
  if (!is_hex) return std::string(bytes);
  std::string text;
  append_hex(bytes, text);
  return text;
}

}  // namespace kvc::core
