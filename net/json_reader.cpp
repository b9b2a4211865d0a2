// JSON bodies, read as they are scanned: no tree of the whole, numbers of long lists straight into their vectors.
#include <charconv>
#include <optional>
#include <string>

#include <boost/json/basic_parser_impl.hpp>

#include "net/json_handler.hpp"
#include "net/plain_query.hpp"
#include "net/request_document.hpp"

namespace kvc::net {

namespace json = boost::json;
using kind = tape_node::kind;

namespace {

constexpr std::size_t max_depth = 200;  // of a body, unknown members included: the reader takes stack for each level

/// The number that an escape stands for which begins here, `\u` and four digits; nothing when none does.
std::optional<unsigned> escape_at(std::string_view text) {
  constexpr std::size_t digits = 4;
  if (text.size() < 2 + digits || text[0] != '\\' || text[1] != 'u') return std::nullopt;
  unsigned number = 0;
  const char* const end = text.data() + 2 + digits;
  const auto read = std::from_chars(text.data() + 2, end, number, 16);
  return read.ptr == end ? std::optional(number) : std::nullopt;
}

bool is_first_half(unsigned unit) {
  return unit >= 0xD800 && unit < 0xDC00;
}
bool is_second_half(unsigned unit) {
  return unit >= 0xDC00 && unit < 0xE000;
}

/// The body with U+0000 in place of escapes that are half a character: so some clients write a byte that is no UTF-8.
std::string without_halves(std::string_view body) {
  constexpr std::size_t length = 6;
  std::string whole(body);
  for (std::size_t at = 0; at < body.size();) {
    const std::optional<unsigned> unit = escape_at(body.substr(at));
    if (!unit) {
      at += body[at] == '\\' ? 2 : 1;
      continue;
    }
    const std::optional<unsigned> next = is_first_half(*unit) ? escape_at(body.substr(at + length)) : std::nullopt;
    const bool is_pair = next && is_second_half(*next);
    if (!is_pair && (is_first_half(*unit) || is_second_half(*unit))) whole.replace(at + 2, length - 2, "0000");
    at += is_pair ? 2 * length : length;
  }
  return whole;
}

}  // namespace

checked request_document::read_json(std::string_view body, shape wanted) {
  if (wanted == shape::single) {
    if (read_plain_query(body, data_)) {
      nodes_ = data_.tree.data();
      return {};
    }
    clear();
  }
  json::parse_options options;
  options.max_depth = wanted == shape::batch ? max_depth + 2 : max_depth;  // what may stand alone may stand in a batch
  options.allow_invalid_utf8 = wanted == shape::single_of_bytes;
  error_code failed;
  std::size_t used = 0;
  const auto read = [&](std::string_view text) {
    json::basic_parser<json_handler> parser(options, data_, wanted);
    used = parser.write_some(false, text.data(), text.size(), failed);
  };
  read(body);
  if (failed && wanted == shape::single_of_bytes && data_.too_long.empty()) {
    // Whoever reads the texts judges them one by one; one of them must not cost the others. The scanner has several words for half a
    // character, one of which it has for other faults as well.
    const std::string whole = without_halves(body);
    if (whole != body) {
      clear();
      read(whole);
    }
  }
  if (!data_.too_long.empty()) {
    const std::string name(data_.too_long);
    return refusal{refusal_kind::out_of_range, name + " " + data_.too_long_how, name};
  }
  if (!failed && used < body.size()) failed = json::error::extra_data;
  if (failed) return refusal{refusal_kind::invalid_json, "the body is not JSON: " + failed.message() + " at byte " + std::to_string(used)};
  for (tape_node& node : data_.tree) {
    if (node.what == kind::string) node.data = data_.text.data() + node.bits;
  }
  nodes_ = data_.tree.data();
  return {};
}

}  // namespace kvc::net
