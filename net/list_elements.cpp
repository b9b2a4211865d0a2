#include "net/list_elements.hpp"

#include <bit>
#include <charconv>
#include <cstring>

namespace kvc::net {

bool parse_hash(std::string_view text, std::uint64_t& value) noexcept {
  if (text.size() > longest_hash_text) return false;
  int base = 10;
  if (text.starts_with("0x") || text.starts_with("0X")) {
    text.remove_prefix(2);
    base = 16;
  }
  if (base == 10 && text.starts_with('-')) {
    std::int64_t negative = 0;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), negative);
    value = static_cast<std::uint64_t>(negative);
    return failed == std::errc{} && end == text.data() + text.size();
  }
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  return failed == std::errc{} && end == text.data() + text.size();
}

void token_bytes::take_byte(std::uint8_t byte, std::vector<std::uint32_t>& out) {
  token_ |= std::uint32_t{byte} << (8 * bytes_);
  if (++bytes_ < 4) return;
  out.push_back(token_);
  token_ = 0;
  bytes_ = 0;
}

void token_bytes::take(std::string_view bytes, std::vector<std::uint32_t>& out) {
  if constexpr (std::endian::native == std::endian::little) {
    // Whole tokens at once: a byte at a time made a third of what a query of 4,096 tokens cost.
    if (bytes_ == 0) {
      const std::size_t whole = bytes.size() / sizeof(std::uint32_t);
      const std::size_t before = out.size();
      out.resize(before + whole);
      if (whole > 0) std::memcpy(out.data() + before, bytes.data(), whole * sizeof(std::uint32_t));
      bytes.remove_prefix(whole * sizeof(std::uint32_t));
    }
  }
  for (const char byte : bytes) take_byte(static_cast<std::uint8_t>(byte), out);
}

namespace {

constexpr std::uint32_t no_digit = 64;

constexpr std::uint32_t digit_of(char letter) {
  if (letter >= 'A' && letter <= 'Z') return static_cast<std::uint32_t>(letter - 'A');
  if (letter >= 'a' && letter <= 'z') return static_cast<std::uint32_t>(letter - 'a') + 26;
  if (letter >= '0' && letter <= '9') return static_cast<std::uint32_t>(letter - '0') + 52;
  if (letter == '+' || letter == '-') return 62;
  if (letter == '/' || letter == '_') return 63;
  return no_digit;
}

}  // namespace

bool token_bytes::take_base64(std::string_view text, std::vector<std::uint32_t>& out) {
  for (const char letter : text) {
    if (letter == '=') {
      ++padding_;
      continue;
    }
    const std::uint32_t digit = digit_of(letter);
    if (digit == no_digit || padding_ > 0) return false;
    sextets_ = (sextets_ << 6) | digit;
    if (++held_ < 4) continue;
    for (const int shift : {16, 8, 0}) take_byte(static_cast<std::uint8_t>(sextets_ >> shift), out);
    sextets_ = 0;
    held_ = 0;
  }
  return true;
}

bool token_bytes::finish(std::vector<std::uint32_t>& out) {
  if (held_ == 1 || (padding_ > 0 && held_ + padding_ != 4)) return false;
  const std::uint32_t tail = sextets_ << (6 * (4 - held_));  // two or three digits left stand for one or two more bytes
  if (held_ >= 2) take_byte(static_cast<std::uint8_t>(tail >> 16), out);
  if (held_ == 3) take_byte(static_cast<std::uint8_t>(tail >> 8), out);
  return bytes_ == 0;
}

}  // namespace kvc::net
