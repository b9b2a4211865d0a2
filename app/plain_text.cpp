#include "app/plain_text.hpp"

#include "core/utf8.hpp"

namespace kvc::app {
namespace {

/// Of the first set (and DEL), or of the second one, U+0080 to U+009F.
bool is_control(std::string_view character) noexcept {
  const auto byte = [character](std::size_t at) { return static_cast<unsigned char>(character[at]); };
  if (character.size() == 1) return byte(0) < 0x20 || byte(0) == 0x7F;
  return character.size() == 2 && byte(0) == 0xC2 && byte(1) < 0xA0;
}

bool goes_on(char byte) noexcept {
  return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U;
}

}  // namespace

std::string one_line(std::string_view text) {
  constexpr std::string_view no_character = "\xEF\xBF\xBD";
  std::string line;
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view character = text.substr(at, core::character_length(text.substr(at)));
    at += character.empty() ? 1 : character.size();
    line += character.empty() ? no_character : is_control(character) ? std::string_view(" ") : character;
  }
  return line;
}

std::string shown(std::string_view text, std::size_t most) {
  if (text.size() <= most) return one_line(text);
  constexpr std::size_t longest_character = 4;
  std::size_t cut = most;
  while (cut > 0 && most - cut < longest_character && goes_on(text[cut])) --cut;
  return one_line(text.substr(0, cut)) + "...";
}

}  // namespace kvc::app
