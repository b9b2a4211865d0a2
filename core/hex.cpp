#include "core/hex.hpp"

#include <cstdint>

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

}  // namespace

result<void> decode_hex(std::string_view hex, std::string& out) {
  const std::size_t before = out.size();
  out.resize(before + hex.size() / 2);  // all it can be; written in place, since a check per byte would cost more than the byte
  char* to = out.data() + before;
  for (std::size_t i = 0; i < hex.size();) {
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
  for (std::size_t i = 0; i < text.size(); i += 2) {
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
