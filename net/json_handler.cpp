#include "net/json_handler.hpp"

#include <limits>
#include <string>

namespace kvc::net {

using kind = tape_node::kind;

tape_node* json_handler::add_node(kind what, error_code& failed) {
  if (data_.tree.size() == request_document::max_tree_nodes) {
    refuse_length(target_->name, "makes more than " + std::to_string(request_document::max_tree_nodes) + " values", failed);
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
  if (data_.text.size() + part.size() > request_document::max_text_bytes) {
    return refuse_length(target_->name, "makes more than " + std::to_string(request_document::max_text_bytes) + " bytes of text", failed);
  }
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
      if (tree_depth_ == open_.size()) {
        // What no member takes, so that the query is refused that has it, and the rest of a batch is not.
        tape_node* const node = add_node(kind::extension, failed);
        if (node == nullptr) return false;
        node->data = "";
        skip_from(place::tree);
        return true;
      }
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
    const bool is_huge = what == kind::real && (number >= 18446744073709551616.0 || number <= -9223372036854775808.0);
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
      if (aims_at(member::queries) && what != kind::nil) {
        data_.items.clear();
        data_.queries.present = true;
        data_.queries.is_wrong = true;
      }
      return true;
    case place::item:
      if (target_ == nullptr || aims_at(member::queries) || what == kind::nil) return true;
      if (aims_at_tokens() || aims_at(member::hashes)) {
        begin_list();
        refuse(refusal_kind::invalid_type);
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
      const bool is_hash = parse_hash(hash_text_, bits);
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

}  // namespace kvc::net
