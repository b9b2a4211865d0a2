// Receives what a JSON scanner sees and keeps of it what a request needs. Only json_reader.cpp uses it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "net/list_elements.hpp"
#include "net/request_document.hpp"

namespace kvc::net {

/// The handler of one scan. `place_` says inside what the scanner is: long lists go straight into numbers, values of known members into the
/// tree, values of unknown members are skipped by counting brackets. The functions called `on_...` are the scanner's (Boost.JSON,
/// basic_parser) and end the scan when they answer false; the sizes say that the only bounds are ours. Strings of the tree hold their
/// offset in `data.text` where a pointer belongs until the scan is over. Lane: one at a time.
class json_handler {
 public:
  static constexpr std::size_t max_object_size = std::numeric_limits<std::size_t>::max();
  static constexpr std::size_t max_array_size = max_object_size;
  static constexpr std::size_t max_key_size = max_object_size;
  static constexpr std::size_t max_string_size = max_object_size;

  json_handler(document_data& data, request_document::shape wanted) : data_(data), is_batch_(wanted == request_document::shape::batch) {}

  bool on_document_begin(error_code&) { return true; }
  bool on_document_end(error_code&) { return true; }
  bool on_comment_part(std::string_view, error_code&) { return true; }
  bool on_comment(std::string_view, error_code&) { return true; }
  bool on_object_begin(error_code& failed) { return open(tape_node::kind::map, failed); }
  bool on_object_end(std::size_t pairs, error_code&) { return close(pairs); }
  bool on_array_begin(error_code& failed) { return open(tape_node::kind::array, failed); }
  bool on_array_end(std::size_t elements, error_code&) { return close(elements); }
  bool on_number_part(std::string_view, error_code&) { return true; }
  bool on_bool(bool value, error_code& failed) { return scalar(tape_node::kind::boolean, value ? 1 : 0, 0, failed); }
  bool on_null(error_code& failed) { return scalar(tape_node::kind::nil, 0, 0, failed); }
  bool on_uint64(std::uint64_t value, std::string_view, error_code& failed) {
    return scalar(tape_node::kind::unsigned_integer, value, 0, failed);
  }
  bool on_int64(std::int64_t value, std::string_view, error_code& failed) {
    return scalar(value < 0 ? tape_node::kind::negative_integer : tape_node::kind::unsigned_integer, static_cast<std::uint64_t>(value), 0,
                  failed);
  }
  bool on_double(double value, std::string_view, error_code& failed) { return scalar(tape_node::kind::real, 0, value, failed); }
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

  /// `how` is what the refusal says of the member.
  bool refuse_length(std::string_view name, std::string how, error_code& failed) {
    data_.too_long = name;
    data_.too_long_how = std::move(how);
    failed = errc::too_many_elements;
    return false;
  }

  bool begin_item(bool is_object, error_code& failed) {
    if (data_.items.size() == request_document::max_queries) return refuse_length("queries", request_document::too_many_queries(), failed);
    data_.items.emplace_back().is_object = is_object;
    return true;
  }

  list_slot& begin_list() {
    list_slot& list = slot();
    item().begin_list(list, *target_);
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

  bool open(tape_node::kind what, error_code& failed);
  bool open_in_item(tape_node::kind what, error_code& failed);
  bool close(std::size_t elements);
  bool scalar(tape_node::kind what, std::uint64_t bits, double number, error_code& failed);
  void element(tape_node::kind what, std::uint64_t bits, double number);
  bool string_piece(std::string_view part, bool is_last, error_code& failed);
  bool add_text(std::string_view part, error_code& failed);
  bool end_text() {
    text_open_ = false;
    return true;
  }
  tape_node* add_node(tape_node::kind what, error_code& failed);

  document_data& data_;
  bool is_batch_;
  place place_ = place::root;
  place back_to_ = place::root;
  std::size_t skipped_depth_ = 0;
  const known_name* target_ = nullptr;  ///< member whose value comes next or is being read
  std::string key_;
  std::size_t index_ = 0;  ///< in the list being read
  token_bytes base64_;
  bool string_open_ = false;  ///< inside base64 or hash text
  std::string hash_text_;
  bool text_open_ = false;  ///< inside a string of the tree
  std::array<std::uint32_t, request_document::max_tree_depth> open_{};
  std::size_t tree_depth_ = 0;
};

}  // namespace kvc::net
