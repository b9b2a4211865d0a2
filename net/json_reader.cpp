// JSON bodies, read as they are scanned: no tree of the whole, numbers of long lists straight into their vectors.
#include <boost/json/basic_parser_impl.hpp>
#include <cmath>
#include <limits>

#include "net/list_elements.hpp"
#include "net/request_document.hpp"

namespace kvc::net {
namespace {

using kind = tape_node::kind;
namespace json = boost::json;

constexpr std::size_t max_depth = 32;          // of a body, unknown members included
constexpr std::size_t longest_hash_text = 64;  // the largest u64 has 20 digits; some writers pad with zeros

/// Receives what the scanner sees. `place_` says inside what; values of unknown members are skipped by counting brackets.
class json_handler {
 public:
  static constexpr std::size_t max_object_size = std::numeric_limits<std::size_t>::max();
  static constexpr std::size_t max_array_size = max_object_size;
  static constexpr std::size_t max_key_size = max_object_size;
  static constexpr std::size_t max_string_size = max_object_size;

  json_handler(document_data& data, request_document::shape wanted)
      : data_(data), is_batch_(wanted == request_document::shape::batch) {}

  bool on_document_begin(error_code&) { return true; }
  bool on_document_end(error_code&) { return true; }
  bool on_comment_part(std::string_view, error_code&) { return true; }
  bool on_comment(std::string_view, error_code&) { return true; }
  bool on_object_begin(error_code& failed) { return open(kind::map, failed); }
  bool on_object_end(std::size_t pairs, error_code&) { return close(pairs); }
  bool on_array_begin(error_code& failed) { return open(kind::array, failed); }
  bool on_array_end(std::size_t elements, error_code&) { return close(elements); }
  bool on_number_part(std::string_view, error_code&) { return true; }
  bool on_bool(bool value, error_code& failed) { return scalar(kind::boolean, value ? 1 : 0, 0, failed); }
  bool on_null(error_code& failed) { return scalar(kind::nil, 0, 0, failed); }
  bool on_uint64(std::uint64_t value, std::string_view, error_code& failed) { return scalar(kind::unsigned_integer, value, 0, failed); }
  bool on_int64(std::int64_t value, std::string_view, error_code& failed) {
    return scalar(value < 0 ? kind::negative_integer : kind::unsigned_integer, static_cast<std::uint64_t>(value), 0, failed);
  }
  bool on_double(double value, std::string_view, error_code& failed) { return scalar(kind::real, 0, value, failed); }
  bool on_key_part(std::string_view part, std::size_t size, error_code& failed) {
    if (place_ == place::tree) return add_text(part, failed);
    take_key(part, size);
    return true;
  }
  bool on_key(std::string_view part, std::size_t size, error_code& failed) {
    if (place_ == place::tree) return add_text(part, failed) && end_text();
    if (place_ != place::item && place_ != place::wrapper) return true;
    take_key(part, size);
    target_ = find_known(key_);
    return true;
  }
  bool on_string_part(std::string_view part, std::size_t, error_code& failed) { return string_piece(part, false, failed); }
  bool on_string(std::string_view part, std::size_t, error_code& failed) { return string_piece(part, true, failed); }

 private:
  enum class place : std::uint8_t { root, wrapper, queries, item, list, tree, skip };

  /// Collects the pieces of a name; `size` is that of all pieces so far. What is longer than any known name need not be kept.
  void take_key(std::string_view part, std::size_t size) {
    if (size == part.size()) key_.clear();
    if (key_.size() <= longest_known_name) key_ += part.substr(0, longest_known_name + 1);
  }

  request_item& item() { return data_.items.back(); }
  [[nodiscard]] bool aims_at(member meaning) const { return target_ != nullptr && target_->meaning == meaning; }
  [[nodiscard]] bool aims_at_tokens() const { return aims_at(member::tokens) || aims_at(member::tokens_base64); }
  list_slot& slot() { return aims_at_tokens() ? item().tokens : item().hashes; }
  [[nodiscard]] std::size_t list_end() const { return aims_at_tokens() ? data_.tokens.size() : data_.hashes.size(); }

  void skip_from(place back) {
    place_ = place::skip;
    back_to_ = back;
    skipped_depth_ = 0;
  }

  bool refuse_length(std::string_view name, error_code& failed) {
    data_.too_long = name;
    failed = errc::too_many_elements;
    return false;
  }

  bool begin_item(bool is_object, error_code& failed) {
    if (data_.items.size() == request_document::max_queries) return refuse_length("queries", failed);
    data_.items.emplace_back().is_object = is_object;
    return true;
  }

  list_slot& begin_list() {
    list_slot& list = slot();
    list = list_slot{};
    list.present = true;
    list.name = target_->name;
    list.begin = list.end = list_end();
    index_ = 0;
    return list;
  }

  void refuse(refusal_kind why) {
    list_slot& list = slot();
    if (list.is_wrong) return;
    list.is_wrong = true;
    list.why = why;
    list.at_element = place_ == place::list;
    list.index = index_;
  }

  bool open(kind what, error_code& failed);
  bool open_in_item(kind what, error_code& failed);
  bool close(std::size_t elements);
  bool scalar(kind what, std::uint64_t bits, double number, error_code& failed);
  void element(kind what, std::uint64_t bits, double number);
  bool string_piece(std::string_view part, bool is_last, error_code& failed);
  bool add_text(std::string_view part, error_code& failed);
  bool end_text() {
    text_open_ = false;
    return true;
  }
  tape_node* add_node(kind what, error_code& failed);

  document_data& data_;
  bool is_batch_;
  place place_ = place::root;
  place back_to_ = place::root;
  std::size_t skipped_depth_ = 0;
  const known_name* target_ = nullptr;   ///< member whose value comes next or is being read
  std::string key_;
  std::size_t index_ = 0;                ///< in the list being read
  token_bytes base64_;
  bool string_open_ = false;             ///< inside base64 or hash text
  std::string hash_text_;
  bool text_open_ = false;               ///< inside a string of the tree
  std::array<std::uint32_t, request_document::max_tree_depth> open_{};
  std::size_t tree_depth_ = 0;
};

tape_node* json_handler::add_node(kind what, error_code& failed) {
  if (data_.tree.size() == request_document::max_tree_nodes) {
    refuse_length(target_->name, failed);
    return nullptr;
  }
  tape_node& node = data_.tree.emplace_back();
  node.what = what;
  node.next = static_cast<std::uint32_t>(data_.tree.size());
  return &node;
}

bool json_handler::add_text(std::string_view part, error_code& failed) {
  if (!text_open_) {
    tape_node* const node = add_node(kind::string, failed);
    if (node == nullptr) return false;
    node->bits = data_.text.size();  // becomes a pointer when the text has stopped moving
    text_open_ = true;
  }
  if (data_.text.size() + part.size() > request_document::max_text_bytes) return refuse_length(target_->name, failed);
  data_.text += part;
  data_.tree.back().length += static_cast<std::uint32_t>(part.size());
  return true;
}

bool json_handler::open_in_item(kind what, error_code& failed) {
  if (target_ == nullptr || aims_at(member::queries)) {
    skip_from(place::item);
  } else if (aims_at_tokens() || aims_at(member::hashes)) {
    begin_list();
    if (what == kind::array && !aims_at(member::tokens_base64)) {
      place_ = place::list;
    } else {
      refuse(refusal_kind::invalid_type);
      skip_from(place::item);
    }
  } else {
    item().note(*target_, data_.tree.size());
    place_ = place::tree;
    return open(what, failed);
  }
  return true;
}

bool json_handler::open(kind what, error_code& failed) {
  switch (place_) {
    case place::root:
      data_.is_object = what == kind::map;
      if (!data_.is_object) {
        skip_from(place::root);
      } else if (is_batch_) {
        place_ = place::wrapper;
      } else {
        place_ = place::item;
        return begin_item(true, failed);
      }
      return true;
    case place::wrapper:
      if (!aims_at(member::queries)) {
        skip_from(place::wrapper);
        return true;
      }
      data_.items.clear();
      data_.queries.present = true;
      data_.queries.is_wrong = what != kind::array;
      if (data_.queries.is_wrong) {
        skip_from(place::wrapper);
      } else {
        place_ = place::queries;
      }
      return true;
    case place::queries:
      if (!begin_item(what == kind::map, failed)) return false;
      if (what == kind::map) {
        place_ = place::item;
      } else {
        skip_from(place::queries);
      }
      return true;
    case place::item: return open_in_item(what, failed);
    case place::list:
      refuse(refusal_kind::invalid_type);
      ++index_;
      skip_from(place::list);
      return true;
    case place::tree: {
      if (tree_depth_ == open_.size()) return refuse_length(target_->name, failed);
      open_[tree_depth_++] = static_cast<std::uint32_t>(data_.tree.size());
      return add_node(what, failed) != nullptr;
    }
    case place::skip: ++skipped_depth_; return true;
  }
  return true;
}

bool json_handler::close(std::size_t elements) {
  switch (place_) {
    case place::skip:
      if (skipped_depth_ == 0) {
        place_ = back_to_;
      } else {
        --skipped_depth_;
      }
      break;
    case place::tree: {
      tape_node& node = data_.tree[open_[--tree_depth_]];
      node.length = static_cast<std::uint32_t>(elements);
      node.next = static_cast<std::uint32_t>(data_.tree.size());
      if (tree_depth_ == 0) place_ = place::item;
      break;
    }
    case place::list:
      slot().end = list_end();
      place_ = place::item;
      break;
    case place::item: place_ = is_batch_ ? place::queries : place::root; break;
    case place::queries: place_ = place::wrapper; break;
    case place::wrapper:
    case place::root: place_ = place::root; break;
  }
  return true;
}

void json_handler::element(kind what, std::uint64_t bits, double number) {
  const bool is_token = aims_at(member::tokens);
  const bool is_integer = what == kind::unsigned_integer || what == kind::negative_integer;
  if (!is_integer) {
    // An integer too large for 64 bits arrives as a real number.
    const bool is_huge = what == kind::real && std::abs(number) >= 18446744073709551616.0;
    refuse(is_huge ? refusal_kind::out_of_range : refusal_kind::invalid_type);
  } else if (is_token && (what == kind::negative_integer || bits > std::numeric_limits<std::uint32_t>::max())) {
    refuse(refusal_kind::out_of_range);
  } else if (is_token) {
    data_.tokens.push_back(static_cast<std::uint32_t>(bits));
  } else {
    data_.hashes.emplace_back(bits);
  }
  ++index_;
}

bool json_handler::scalar(kind what, std::uint64_t bits, double number, error_code& failed) {
  switch (place_) {
    case place::list: element(what, bits, number); return true;
    case place::skip: return true;
    case place::root: data_.is_object = false; return true;
    case place::queries: return begin_item(false, failed);
    case place::wrapper:
      if (aims_at(member::queries)) {
        data_.items.clear();
        data_.queries.present = what != kind::nil;
        data_.queries.is_wrong = true;
      }
      return true;
    case place::item:
      if (target_ == nullptr || aims_at(member::queries)) return true;
      if (aims_at_tokens() || aims_at(member::hashes)) {
        begin_list().present = what != kind::nil;
        if (what != kind::nil) refuse(refusal_kind::invalid_type);
        return true;
      }
      item().note(*target_, data_.tree.size());
      break;
    case place::tree: break;
  }
  tape_node* const node = add_node(what, failed);
  if (node == nullptr) return false;
  if (what == kind::real) {
    node->number = number;
  } else {
    node->bits = bits;
  }
  return true;
}

bool json_handler::string_piece(std::string_view part, bool is_last, error_code& failed) {
  if (place_ == place::tree) return add_text(part, failed) && (!is_last || end_text());
  if (place_ == place::list) {
    if (aims_at(member::hashes)) {
      if (hash_text_.size() <= longest_hash_text) hash_text_ += part.substr(0, longest_hash_text + 1);
      if (!is_last) return true;
      std::uint64_t bits = 0;
      const bool is_hash = hash_text_.size() <= longest_hash_text && parse_hash(hash_text_, bits);
      if (!is_hash) refuse(refusal_kind::invalid_value);
      if (is_hash) data_.hashes.emplace_back(bits);
      hash_text_.clear();
    } else {
      if (!is_last) return true;
      refuse(refusal_kind::invalid_type);
    }
    ++index_;
    return true;
  }
  if (place_ == place::item && target_ != nullptr && !aims_at(member::queries)) {
    if (aims_at(member::tokens_base64)) {
      if (!string_open_) {
        begin_list();
        base64_.begin();
        string_open_ = true;
      }
      if (!base64_.take_base64(part, data_.tokens)) refuse(refusal_kind::invalid_value);
      if (!is_last) return true;
      if (!base64_.finish(data_.tokens)) refuse(refusal_kind::invalid_value);
      slot().end = data_.tokens.size();
      string_open_ = false;
      return true;
    }
    if (aims_at_tokens() || aims_at(member::hashes)) return is_last ? scalar(kind::string, 0, 0, failed) : true;
    if (!text_open_) item().note(*target_, data_.tree.size());
    return add_text(part, failed) && (!is_last || end_text());
  }
  return is_last ? scalar(kind::string, 0, 0, failed) : true;
}

}  // namespace

checked request_document::read_json(std::string_view body, shape wanted) {
  json::parse_options options;
  options.max_depth = wanted == shape::batch ? max_depth + 2 : max_depth;  // what may stand alone may stand in a batch
  json::basic_parser<json_handler> parser(options, data_, wanted);
  error_code failed;
  const std::size_t used = parser.write_some(false, body.data(), body.size(), failed);
  if (!data_.too_long.empty()) {
    const std::string name(data_.too_long);
    return refusal{refusal_kind::out_of_range, name + " is longer or deeper than the limit", name};
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
