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
  if (!target.starts_with('/') && scheme != std::string_view::npos) {
    const std::size_t slash = target.find_first_of("/?", scheme + 3);
    target = slash == std::string_view::npos ? std::string_view("/") : target.substr(slash);
  }
  target = target.substr(0, target.find('#'));
  const std::size_t mark = target.find('?');
  const std::string_view path = target.substr(0, mark);
  http_target parsed;
  if (!decode(path, false, parsed.path)) return std::nullopt;
  if (parsed.path.empty()) parsed.path = "/";
  if (parsed.path.front() != '/') return std::nullopt;
  if (parsed.path.size() > 1 && parsed.path.back() == '/') parsed.path.pop_back();
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
  while (!accept.empty()) {
    const std::string_view one = accept.substr(0, accept.find(','));
    accept.remove_prefix(std::min(accept.size(), one.size() + 1));
    const std::string type = media_type(one);
    if (is_msgpack(type)) return wire_form::msgpack;
    if (type == "application/json") return wire_form::json;
  }
  return otherwise;
}

}  // namespace kvc::net
