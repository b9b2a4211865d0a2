#include "core/object_key.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <span>

#include "core/block_hasher.hpp"

namespace kvc::core {
namespace {

/// 0 to 15; 16 for whatever is no digit.
unsigned digit(char letter) {
  if (letter >= '0' && letter <= '9') return static_cast<unsigned>(letter - '0');
  const char lower = static_cast<char>(letter | 0x20);
  if (lower >= 'a' && lower <= 'f') return static_cast<unsigned>(lower - 'a') + 10;
  return 16;
}

bool is_blank(char letter) { return letter == ' ' || (letter >= '\t' && letter <= '\r'); }

std::uint64_t digest_text(std::string_view text) { return digest(std::as_bytes(std::span(text.data(), text.size()))); }

/// Spreads a number over 64 bits (the finaliser of splitmix64, S. Vigna, public domain).
std::uint64_t spread(std::uint64_t value) {
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EB;
  return value ^ (value >> 31);
}

}  // namespace

result<void> decode_hex(std::string_view hex, std::string& out) {
  const std::size_t before = out.size();
  for (std::size_t i = 0; i < hex.size();) {
    if (is_blank(hex[i])) {
      ++i;
      continue;
    }
    const unsigned high = digit(hex[i]);
    const unsigned low = i + 1 < hex.size() ? digit(hex[i + 1]) : 16;
    if (high == 16 || low == 16) {
      out.resize(before);
      return make_error_code(errc::hash_not_hex);
    }
    out.push_back(static_cast<char>(high << 4 | low));
    i += 2;
  }
  return {};
}

void append_hex(std::string_view bytes, std::string& out) {
  constexpr std::string_view digits = "0123456789abcdef";
  for (const char each : bytes) {
    const auto byte = static_cast<unsigned char>(each);
    out.push_back(digits[byte >> 4]);
    out.push_back(digits[byte & 15]);
  }
}

result<void> check_key(const object_key& key) {
  if (key.model.find('@') != std::string_view::npos) return make_error_code(errc::model_not_allowed);
  if (key.salt.find_first_of(std::string_view("@/\\\0", 4)) != std::string_view::npos) return make_error_code(errc::salt_not_allowed);
  const auto continues = [](char each) { return (static_cast<unsigned char>(each) & 0xC0) == 0x80; };  // the later bytes of a UTF-8 character
  if (key.salt.size() > longest_salt && key.salt.size() - static_cast<std::size_t>(std::ranges::count_if(key.salt, continues)) > longest_salt) {
    return make_error_code(errc::salt_too_long);
  }
  return {};
}

std::uint64_t layout_digest(const object_key& key) {
  return digest_text(key.model) ^ spread(static_cast<std::uint64_t>(key.kv_rank) + std::rotl(spread(key.object_group), 17));
}

std::uint64_t key_digest(const object_key& key) {
  return spread(digest_text(key.hash) ^ std::rotl(layout_digest(key), 21) ^ std::rotl(digest_text(key.salt), 42));
}

}  // namespace kvc::core
