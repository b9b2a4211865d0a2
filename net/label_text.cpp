#include "net/label_text.hpp"

#include <cstdint>
#include <span>

#include "core/long_digest.hpp"

namespace kvc::net {
namespace {

/// Bytes of `text` that end with a character and are at most `most`, which is less than it has. Bytes that are no text are cut anywhere.
std::size_t cut_of(std::string_view text, std::size_t most) {
  constexpr std::size_t most_continuing = 3;
  const auto is_inside = [text](std::size_t at) { return (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U; };
  for (std::size_t back = 0; back <= most_continuing; ++back) {
    if (!is_inside(most - back)) return most - back;
  }
  return most;
}

}  // namespace

std::string label_text(std::string_view text) {
  if (text.size() <= most_label_bytes) return std::string(text);
  std::string shown(text.substr(0, cut_of(text, most_label_bytes)));
  shown += "...";
  constexpr std::string_view digits = "0123456789abcdef";
  const std::uint64_t digest = core::long_digest(std::as_bytes(std::span(text)));
  for (int shift = 60; shift >= 0; shift -= 4) shown += digits[(digest >> shift) & 0xFU];
  return shown;
}

}  // namespace kvc::net
