#include "net/store_url.hpp"

#include <algorithm>
#include <charconv>
#include <functional>
#include <utility>

namespace kvc::net {
namespace {

constexpr std::size_t longest_host = 255;
constexpr std::size_t longest_path = 1'024;
constexpr std::size_t most_candidates = 16;  ///< in one answer

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

/// Digits and points that are no IPv4 address.
bool is_mere_number(std::string_view host) {
  if (host.find_first_not_of("0123456789.") != std::string_view::npos) return false;
  std::size_t parts = 0;
  for (std::string_view rest = host;; rest.remove_prefix(rest.find('.') + 1)) {
    const std::string_view part = rest.substr(0, rest.find('.'));
    unsigned number = 256;
    std::from_chars(part.data(), part.data() + part.size(), number);
    if (part.size() > 3 || number > 255) return true;
    ++parts;
    if (part.size() == rest.size()) return parts != 4;
  }
}

/// The name of the JSON member whose text begins at `at`, in small letters; "" when it is none.
std::string name_before(std::string_view text, std::size_t at) {
  std::string_view before = text.substr(0, at);
  const auto take = [&before](char letter) {
    const std::size_t last = before.find_last_not_of(" \t\r\n");
    const bool is_it = last != std::string_view::npos && before[last] == letter;
    if (is_it) before = before.substr(0, last);
    return is_it;
  };
  if (!take('"') || !take(':') || !take('"')) return {};
  const std::size_t quote = before.rfind('"');
  if (quote == std::string_view::npos) return {};
  std::string name(before.substr(quote + 1));
  std::ranges::transform(name, name.begin(),
                         [](char letter) { return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter + 32) : letter; });
  return name;
}

/// How likely the text of a member of that name is where the leader is.
int worth_of(std::string_view name) {
  const auto has = [name](std::string_view part) { return name.find(part) != std::string_view::npos; };
  if (has("leader")) return 2;
  return has("address") || has("endpoint") || has("host") || has("url") || has("master") ? 1 : 0;
}

}  // namespace

std::optional<store_url> parse_store_url(std::string_view text, path_end end) {
  constexpr std::string_view scheme = "http://";
  if (!text.starts_with(scheme)) return std::nullopt;
  text.remove_prefix(scheme.size());
  const std::size_t slash = std::min(text.find('/'), text.size());
  store_url url;
  if (!read_authority(text.substr(0, slash), url)) return std::nullopt;
  url.path = text.substr(slash);
  while (end == path_end::stripped && url.path.ends_with('/')) url.path.pop_back();
  if (url.path.size() > longest_path || !std::ranges::all_of(url.path, is_path_letter)) return std::nullopt;
  return url;
}

std::vector<store_url> find_addresses(std::string_view text, std::uint16_t default_port) {
  // Masters answer a bare address or an object with it; whichever it is, it stands between quotes or alone.
  const auto is_part = [](char letter) {
    return is_host_letter(letter) || letter == ':' || letter == '[' || letter == ']' || letter == '/';
  };
  struct candidate {
    int worth = 0;
    store_url url;
  };
  std::vector<candidate> all;
  for (std::size_t at = 0; at < text.size() && all.size() < most_candidates;) {
    const bool begins = is_part(text[at]) && text[at] != ':';  // in JSON without blanks it parts a name from a number
    if (!begins) {
      ++at;
      continue;
    }
    std::size_t end = at;
    while (end < text.size() && is_part(text[end])) ++end;
    std::string_view word = text.substr(at, end - at);
    const int worth = worth_of(name_before(text, at));
    at = end;
    if (word.starts_with("http://")) word.remove_prefix(7);
    word = word.substr(0, word.find('/'));
    candidate found{.worth = worth, .url = {}};
    found.url.port = default_port;
    const bool has_shape = word.find('.') != std::string_view::npos || word.find(':') != std::string_view::npos;
    if (!has_shape || word.back() == ':' || !read_authority(word, found.url) || is_mere_number(found.url.host)) continue;
    all.push_back(std::move(found));
  }
  std::ranges::stable_sort(all, std::greater(), &candidate::worth);
  std::vector<store_url> urls;
  for (candidate& each : all) urls.push_back(std::move(each.url));
  return urls;
}

}  // namespace kvc::net
