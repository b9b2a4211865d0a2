#include "core/utf8.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace kvc::core {
namespace {

struct lead {
  unsigned more = 0;          ///< bytes that follow
  std::uint8_t least = 0x80;  ///< of the first of them
  std::uint8_t most = 0xBF;
};

/// What must follow a first byte at or above 0x80; no bytes when it cannot be one.
constexpr lead lead_of(std::uint8_t byte) noexcept {
  if (byte >= 0xC2 && byte <= 0xDF) return {.more = 1};
  if (byte == 0xE0) return {.more = 2, .least = 0xA0};
  if (byte == 0xED) return {.more = 2, .most = 0x9F};
  if (byte >= 0xE1 && byte <= 0xEF) return {.more = 2};
  if (byte == 0xF0) return {.more = 3, .least = 0x90};
  if (byte >= 0xF1 && byte <= 0xF3) return {.more = 3};
  if (byte == 0xF4) return {.more = 3, .most = 0x8F};
  return {};
}

}  // namespace

std::size_t character_length(std::string_view bytes) noexcept {
  if (bytes.empty()) return 0;
  const auto first = static_cast<std::uint8_t>(bytes[0]);
  if (first < 0x80) return 1;
  const lead wanted = lead_of(first);
  if (wanted.more == 0 || bytes.size() - 1 < wanted.more) return 0;
  const auto second = static_cast<std::uint8_t>(bytes[1]);
  if (second < wanted.least || second > wanted.most) return 0;
  for (unsigned i = 1; i < wanted.more; ++i) {
    if ((static_cast<std::uint8_t>(bytes[1 + i]) & 0xC0) != 0x80) return 0;
  }
  return 1 + wanted.more;
}

bool is_utf8(std::string_view bytes) noexcept {
  for (std::size_t at = 0; at < bytes.size();) {
    // Keys are ASCII almost always: eight at a time.
    std::uint64_t eight = 0;
    if (at + sizeof eight <= bytes.size()) {
      std::memcpy(&eight, bytes.data() + at, sizeof eight);
      if ((eight & 0x8080'8080'8080'8080) == 0) {
        at += sizeof eight;
        continue;
      }
    }
    const std::size_t length = character_length(bytes.substr(at));
    if (length == 0) return false;
    at += length;
  }
  return true;
}

std::string repaired_utf8(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size());
  while (!bytes.empty()) {
    const std::size_t length = character_length(bytes);
    text += length == 0 ? std::string_view("\xEF\xBF\xBD") : bytes.substr(0, length);
    bytes.remove_prefix(length == 0 ? 1 : length);
  }
  return text;
}

}  // namespace kvc::core
