#include "net/base64.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace kvc::net {
namespace {

constexpr std::uint8_t no_letter = 0xFF;

constexpr std::array<std::uint8_t, 256> make_values() {
  constexpr std::string_view alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::array<std::uint8_t, 256> values{};
  values.fill(no_letter);
  for (std::size_t i = 0; i < alphabet.size(); ++i) values[static_cast<unsigned char>(alphabet[i])] = static_cast<std::uint8_t>(i);
  return values;
}
constexpr std::array<std::uint8_t, 256> values = make_values();

}  // namespace

std::optional<std::string> decode_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  const std::string_view letters = text.substr(0, text.size() - padding);
  std::string bytes;
  bytes.resize(letters.size() / 4 * 3 + (letters.size() % 4 == 0 ? 0 : letters.size() % 4 - 1));
  const auto value = [&](std::size_t at) { return std::uint32_t{values[static_cast<unsigned char>(letters[at])]}; };
  // Whether all are letters is asked once at the end: prompts are long, and next to none is wrong.
  std::uint32_t seen = 0;
  char* to = bytes.data();
  std::size_t at = 0;
  for (; at + 4 <= letters.size(); at += 4) {
    const std::uint32_t first = value(at);
    const std::uint32_t second = value(at + 1);
    const std::uint32_t third = value(at + 2);
    const std::uint32_t fourth = value(at + 3);
    seen |= first | second | third | fourth;
    const std::uint32_t bits = first << 18 | second << 12 | third << 6 | fourth;
    *to++ = static_cast<char>(bits >> 16);
    *to++ = static_cast<char>(bits >> 8);
    *to++ = static_cast<char>(bits);
  }
  if (at < letters.size()) {  // two or three
    const std::uint32_t third = at + 2 < letters.size() ? value(at + 2) : 0;
    seen |= value(at) | value(at + 1) | third;
    const std::uint32_t bits = value(at) << 18 | value(at + 1) << 12 | third << 6;
    *to++ = static_cast<char>(bits >> 16);
    if (at + 2 < letters.size()) *to++ = static_cast<char>(bits >> 8);
  }
  if ((seen & ~63U) != 0) return std::nullopt;
  return bytes;
}

}  // namespace kvc::net
