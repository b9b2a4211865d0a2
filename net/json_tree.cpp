#include "net/json_tree.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <limits>
#include <system_error>

#include <boost/json/basic_parser_impl.hpp>

#include "net/errc.hpp"

namespace kvc::net {
namespace {

namespace json = boost::json;
using kind = tape_node::kind;

/// What the scanner calls (Boost.JSON, basic_parser); a function that answers false ends the scan.
struct tree_handler {
  static constexpr std::size_t max_object_size = std::numeric_limits<std::size_t>::max();
  static constexpr std::size_t max_array_size = max_object_size;
  static constexpr std::size_t max_key_size = std::numeric_limits<std::uint32_t>::max();
  static constexpr std::size_t max_string_size = max_key_size;

  std::vector<tape_node>& nodes;
  std::string& unescaped;
  std::string_view body;
  std::vector<std::uint32_t> open{};
  std::size_t text_begin = 0;

  tape_node* add(kind what, error_code& failed) {
    if (nodes.size() == json_tree::max_nodes) {
      failed = errc::too_many_elements;
      return nullptr;
    }
    tape_node& node = nodes.emplace_back();
    node.what = what;
    node.next = static_cast<std::uint32_t>(nodes.size());
    return &node;
  }
  bool begin(kind what, error_code& failed) {
    open.push_back(static_cast<std::uint32_t>(nodes.size()));
    return add(what, failed) != nullptr;
  }
  bool end(std::size_t size) {
    tape_node& node = nodes[open.back()];
    node.length = static_cast<std::uint32_t>(size);
    node.next = static_cast<std::uint32_t>(nodes.size());
    open.pop_back();
    return true;
  }
  /// `size`: of all pieces so far. A text that came in one piece and was copied by nobody lies in the body.
  bool end_text(std::string_view part, std::size_t size, error_code& failed) {
    tape_node* node = add(kind::string, failed);
    if (node == nullptr) return false;
    const bool is_view = size == part.size() && part.data() >= body.data() && part.data() + part.size() <= body.data() + body.size();
    if (is_view) {
      node->data = part.data();
    } else {
      if (size == part.size()) text_begin = unescaped.size();
      unescaped += part;
      node->data = unescaped.data() + text_begin;
    }
    node->length = static_cast<std::uint32_t>(size);
    return true;
  }
  bool add_text(std::string_view part, std::size_t size) {
    if (size == part.size()) text_begin = unescaped.size();
    unescaped += part;
    return true;
  }

  bool on_document_begin(error_code&) { return true; }
  bool on_document_end(error_code&) { return true; }
  bool on_comment_part(std::string_view, error_code&) { return true; }
  bool on_comment(std::string_view, error_code&) { return true; }
  bool on_object_begin(error_code& failed) { return begin(kind::map, failed); }
  bool on_object_end(std::size_t pairs, error_code&) { return end(pairs); }
  bool on_array_begin(error_code& failed) { return begin(kind::array, failed); }
  bool on_array_end(std::size_t elements, error_code&) { return end(elements); }
  bool on_key_part(std::string_view part, std::size_t size, error_code&) { return add_text(part, size); }
  bool on_key(std::string_view part, std::size_t size, error_code& failed) { return end_text(part, size, failed); }
  bool on_string_part(std::string_view part, std::size_t size, error_code&) { return add_text(part, size); }
  bool on_string(std::string_view part, std::size_t size, error_code& failed) { return end_text(part, size, failed); }
  bool on_number_part(std::string_view, error_code&) { return true; }
  bool on_null(error_code& failed) { return add(kind::nil, failed) != nullptr; }
  bool on_bool(bool value, error_code& failed) { return bits(kind::boolean, value ? 1 : 0, failed); }
  bool on_uint64(std::uint64_t value, std::string_view, error_code& failed) { return bits(kind::unsigned_integer, value, failed); }
  bool on_int64(std::int64_t value, std::string_view, error_code& failed) {
    return bits(value < 0 ? kind::negative_integer : kind::unsigned_integer, static_cast<std::uint64_t>(value), failed);
  }
  /// The scanner's own number may be off in its last bit, which can cost a quota a byte; the text is the whole number, as it came at once.
  bool on_double(double value, std::string_view text, error_code& failed) {
    tape_node* node = add(kind::real, failed);
    double exact = 0;
    const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), exact);
    const bool is_whole_text = wrong == std::errc() && end == text.data() + text.size();
    if (node != nullptr) node->number = is_whole_text ? exact : value;
    return node != nullptr;
  }
  bool bits(kind what, std::uint64_t value, error_code& failed) {
    tape_node* node = add(what, failed);
    if (node != nullptr) node->bits = value;
    return node != nullptr;
  }
};

/// Whether a letter may belong to a number or a word: one that stands beside a word makes another one of it, which is none.
bool is_of_word(char each) {
  return std::isalnum(static_cast<unsigned char>(each)) != 0 || each == '+' || each == '-' || each == '.';
}

/// The text with numbers too large for any double in place of the bare words that are numbers to the clients' library and to no standard;
/// as it was when there are none.
std::string with_words_as_numbers(std::string_view text) {
  constexpr std::array<std::string_view, 3> words{"NaN", "-Infinity", "Infinity"};
  std::string out;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size();) {
    const auto* const word =
        in_string ? words.end() : std::ranges::find_if(words, [&](std::string_view each) { return text.substr(i).starts_with(each); });
    if (word != words.end()) {
      const std::size_t end = i + word->size();
      const bool is_alone = (i == 0 || !is_of_word(text[i - 1])) && (end == text.size() || !is_of_word(text[end]));
      out.append(!is_alone ? *word : word->starts_with('-') ? "-1e999" : "1e999");
      i = end;
      continue;
    }
    const bool is_escape = in_string && text[i] == '\\' && i + 1 < text.size();
    if (is_escape) out += text[i++];
    if (text[i] == '"' && !is_escape) in_string = !in_string;
    out += text[i++];
  }
  return out;
}

}  // namespace

std::optional<json_tree::failure> json_tree::parse(std::string_view body) {
  std::optional<failure> wrong = scan(body);
  if (!wrong || wrong->is_too_large) return wrong;
  if (body.find("NaN") == std::string_view::npos && body.find("Infinity") == std::string_view::npos) return wrong;
  rewritten_ = with_words_as_numbers(body);
  if (!scan(rewritten_)) return std::nullopt;
  nodes_.clear();
  return wrong;
}

std::optional<json_tree::failure> json_tree::scan(std::string_view text) {
  constexpr std::size_t bytes_per_node = 12;
  nodes_.clear();
  nodes_.reserve(text.size() / bytes_per_node + 1);
  unescaped_.clear();
  unescaped_.reserve(text.size());  // an escape is longer than what it stands for, so that pointers into it stay good
  json::parse_options options;
  options.max_depth = max_depth;
  json::basic_parser<tree_handler> parser(options, tree_handler{nodes_, unescaped_, text});
  error_code failed;
  const std::size_t used = parser.write_some(false, text.data(), text.size(), failed);
  if (!failed && used < text.size()) failed = json::error::extra_data;
  if (!failed) return std::nullopt;
  nodes_.clear();
  return failure{used, failed.message(), failed == errc::too_many_elements};
}

tape_value find_member(const tape_value& object, std::string_view name) noexcept {
  tape_value found;
  if (!object.is(kind::map) || object.length() == 0) return found;
  tape_value key = object.first();
  for (std::uint32_t i = 0;;) {
    const tape_value value = key.next();
    if (key.text() == name) found = value;
    if (++i == object.length()) return found;
    key = value.next();
  }
}

}  // namespace kvc::net
