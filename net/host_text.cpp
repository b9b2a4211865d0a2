#include "net/host_text.hpp"

#include <algorithm>

namespace kvc::net {

std::optional<std::string_view> host_to_find(std::string_view text) noexcept {
  const bool is_bracketed = text.size() > 2 && text.front() == '[' && text.back() == ']';
  if (is_bracketed) text = text.substr(1, text.size() - 2);
  const auto is_barred = [](char each) {
    const auto byte = static_cast<unsigned char>(each);
    return byte <= 0x20 || byte == 0x7F;
  };
  if (text.empty() || std::ranges::any_of(text, is_barred)) return std::nullopt;
  return text;
}

std::string host_field(std::string_view host, std::uint16_t port) {
  const std::string number = std::to_string(port);
  if (host.find(':') == std::string_view::npos) return std::string(host) + ":" + number;
  return "[" + std::string(host.substr(0, host.find('%'))) + "]:" + number;
}

}  // namespace kvc::net
