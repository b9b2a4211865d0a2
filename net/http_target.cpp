#include "net/http_target.hpp"

#include <algorithm>
#include <cctype>

#include "core/utf8.hpp"

namespace kvc::net {
namespace {

int hex_digit(char letter) {
  if (letter >= '0' && letter <= '9') return letter - '0';
  if (letter >= 'a' && letter <= 'f') return letter - 'a' + 10;
  if (letter >= 'A' && letter <= 'F') return letter - 'A' + 10;
  return -1;
}

/// False when an escape is broken, or what comes out is no text.
bool decode(std::string_view text, bool plus_is_blank, std::string& out) {
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+' && plus_is_blank) {
      out += ' ';
    } else if (text[i] != '%') {
      out += text[i];
    } else {
      const int high = i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
      const int low = i + 2 < text.size() ? hex_digit(text[i + 2]) : -1;
      if (high < 0 || low < 0) return false;
      out += static_cast<char>(high * 16 + low);
      i += 2;
    }
  }
  return core::is_utf8(out);
}

/// The media type alone: lower case, without parameters and blanks.
std::string media_type(std::string_view header) {
  header = header.substr(0, header.find(';'));
  while (!header.empty() && (header.front() == ' ' || header.front() == '\t')) header.remove_prefix(1);
  while (!header.empty() && (header.back() == ' ' || header.back() == '\t')) header.remove_suffix(1);
  std::string type(header);
  std::ranges::transform(type, type.begin(), [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  return type;
}

/// What a client says a media type is worth to it, in thousandths (RFC 9110, section 12.4.2); 1,000 when it does not say, or not so.
unsigned quality_of(std::string_view range) {
  constexpr unsigned most = 1'000;
  for (std::size_t mark = range.find(';'); mark != std::string_view::npos; mark = range.find(';')) {
    range.remove_prefix(mark + 1);
    range.remove_prefix(std::min(range.find_first_not_of(" \t"), range.size()));
    if (!range.starts_with("q=") && !range.starts_with("Q=")) continue;
    const std::string_view digits = range.substr(2, range.find_first_of("; \t") - 2);
    if (!digits.starts_with('0')) return most;
    unsigned quality = 0;
    unsigned worth = most;
    for (std::size_t i = 2; i < std::min<std::size_t>(digits.size(), 5) && digits[1] == '.'; ++i) {
      if (digits[i] < '0' || digits[i] > '9') return most;
      worth /= 10;
      quality += worth * static_cast<unsigned>(digits[i] - '0');
    }
    return quality;
  }
  return most;
}

bool is_msgpack(std::string_view type) {
  return type == "application/msgpack" || type == "application/x-msgpack" || type == "application/vnd.msgpack";
}

bool is_json(std::string_view type) {
  return type.empty() || type == "application/json" || type == "text/json" || type.ends_with("+json") ||
         type == "application/x-www-form-urlencoded";  // what command-line clients say when they are not told otherwise
}

}  // namespace

std::optional<http_target> parse_target(std::string_view target) {
  const std::size_t scheme = target.find("://");
  if (scheme != std::string_view::npos && scheme < target.find_first_of("/?#")) {
    const std::size_t slash = target.find_first_of("/?", scheme + 3);
    target = slash == std::string_view::npos ? std::string_view("/") : target.substr(slash);
  }
  target = target.substr(0, target.find('#'));
  const std::size_t mark = target.find('?');
  std::string_view path = target.substr(0, mark);
  if (path.size() > 1 && path.back() == '/') path.remove_suffix(1);  // not of what it decodes to: an encoded slash is part of a name
  http_target parsed;
  if (!decode(path, false, parsed.path)) return std::nullopt;
  if (parsed.path.empty()) parsed.path = "/";
  if (parsed.path.front() != '/') return std::nullopt;
  std::string_view query = mark == std::string_view::npos ? std::string_view() : target.substr(mark + 1);
  parsed.raw_query = query;
  while (!query.empty()) {
    const std::string_view pair = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(query.size(), pair.size() + 1));
    if (pair.empty()) continue;
    const std::size_t equals = pair.find('=');
    auto& [name, value] = parsed.query.emplace_back();
    const std::string_view text = equals == std::string_view::npos ? std::string_view() : pair.substr(equals + 1);
    if (!decode(pair.substr(0, equals), true, name) || !decode(text, true, value)) return std::nullopt;
  }
  return parsed;
}

std::optional<wire_form> body_form(std::string_view content_type, std::string_view content_encoding, std::string_view body) {
  if (!content_encoding.empty() && media_type(content_encoding) != "identity") return std::nullopt;
  const std::string type = media_type(content_type);
  if (is_msgpack(type)) return wire_form::msgpack;
  if (body.empty() || is_json(type)) return wire_form::json;
  const std::size_t first = body.find_first_not_of(" \t\r\n");
  if (first != std::string_view::npos && body[first] == '{') return wire_form::json;
  return std::nullopt;
}

wire_form accepted_form(std::string_view accept, wire_form otherwise) {
  wire_form best = otherwise;
  unsigned best_quality = 0;
  while (!accept.empty()) {
    const std::string_view one = accept.substr(0, accept.find(','));
    accept.remove_prefix(std::min(accept.size(), one.size() + 1));
    const std::string type = media_type(one);
    const bool is_packed = is_msgpack(type);
    if (!is_packed && type != "application/json") continue;
    const unsigned quality = quality_of(one);
    if (quality <= best_quality) continue;
    best = is_packed ? wire_form::msgpack : wire_form::json;
    best_quality = quality;
  }
  return best;
}

}  // namespace kvc::net
