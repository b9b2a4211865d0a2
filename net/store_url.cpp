#include "net/store_url.hpp"

#include <algorithm>
#include <charconv>

namespace kvc::net {
namespace {

constexpr std::size_t longest_host = 255;
constexpr std::size_t longest_path = 1'024;

bool is_host_letter(char letter) noexcept {
  return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') || (letter >= '0' && letter <= '9') || letter == '-' ||
         letter == '.' || letter == '_';
}

bool is_path_letter(char letter) noexcept {
  return letter > ' ' && letter < 0x7F && letter != '?' && letter != '#' && letter != '"' && letter != '<' && letter != '>' &&
         letter != '\\';
}

bool read_port(std::string_view digits, std::uint16_t& port) noexcept {
  std::uint32_t number = 0;
  const auto [end, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (failed != std::errc() || end != digits.data() + digits.size() || number == 0 || number > 65'535) return false;
  port = static_cast<std::uint16_t>(number);
  return true;
}

/// `host`, `host:port` or `[v6]:port`.
bool read_authority(std::string_view text, store_url& into) {
  std::string_view rest;
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) return false;
    into.host = text.substr(1, end - 1);
    rest = text.substr(end + 1);
    if (into.host.find_first_not_of("0123456789abcdefABCDEF:.") != std::string::npos || into.host.find(':') == std::string::npos)
      return false;
  } else {
    const std::size_t end = std::min(text.find(':'), text.size());
    into.host = text.substr(0, end);
    rest = text.substr(end);
    if (!std::ranges::all_of(into.host, is_host_letter)) return false;
  }
  if (into.host.empty() || into.host.size() > longest_host) return false;
  return rest.empty() || (rest.starts_with(':') && read_port(rest.substr(1), into.port));
}

}  // namespace

std::optional<store_url> parse_store_url(std::string_view text) {
  constexpr std::string_view scheme = "http://";
  if (!text.starts_with(scheme)) return std::nullopt;
  text.remove_prefix(scheme.size());
  const std::size_t slash = std::min(text.find('/'), text.size());
  store_url url;
  if (!read_authority(text.substr(0, slash), url)) return std::nullopt;
  url.path = text.substr(slash);
  while (url.path.ends_with('/')) url.path.pop_back();
  if (url.path.size() > longest_path || !std::ranges::all_of(url.path, is_path_letter)) return std::nullopt;
  return url;
}

std::optional<store_url> find_address(std::string_view text, std::uint16_t default_port) {
  // Masters answer a bare address or an object with it; whichever it is, it stands between quotes or alone.
  const auto is_part = [](char letter) {
    return is_host_letter(letter) || letter == ':' || letter == '[' || letter == ']' || letter == '/';
  };
  for (std::size_t at = 0; at < text.size();) {
    if (!is_part(text[at])) {
      ++at;
      continue;
    }
    std::size_t end = at;
    while (end < text.size() && is_part(text[end])) ++end;
    std::string_view word = text.substr(at, end - at);
    at = end;
    if (word.starts_with("http://")) word.remove_prefix(7);
    word = word.substr(0, word.find('/'));
    store_url url;
    url.port = default_port;
    const bool has_shape = word.find('.') != std::string_view::npos || word.find(':') != std::string_view::npos;
    if (has_shape && word.back() != ':' && read_authority(word, url)) return url;
  }
  return std::nullopt;
}

}  // namespace kvc::net
