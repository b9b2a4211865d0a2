// MessagePack bodies: the tape is the tree; long lists are copied out of it as numbers.
#include <algorithm>
#include <limits>

#include "core/utf8.hpp"
#include "net/list_elements.hpp"
#include "net/request_document.hpp"

namespace kvc::net {
namespace {

using kind = tape_node::kind;

void refuse(list_slot& slot, refusal_kind why) {
  slot.is_wrong = true;
  slot.why = why;
}

void refuse_element(list_slot& slot, refusal_kind why, std::size_t index) {
  refuse(slot, why);
  slot.at_element = true;
  slot.index = index;
}

/// Walks one document; everything it finds goes into `data`.
class reader {
 public:
  reader(const std::vector<tape_node>& nodes, document_data& data) : nodes_(nodes), data_(data) {}

  void read_item(std::size_t at) {
    request_item& item = data_.items.emplace_back();
    item.is_object = nodes_[at].what == kind::map;
    if (!item.is_object) return;
    std::size_t next = at + 1;
    for (std::uint32_t i = 0; i < nodes_[at].length; ++i) {
      const tape_node& key = nodes_[next];
      const std::size_t value = key.next;
      next = nodes_[value].next;
      const known_name* const known = key.what == kind::string ? find_known(key.text()) : nullptr;
      if (known == nullptr || nodes_[value].what == kind::nil) continue;
      switch (known->meaning) {
        case member::tokens:
          item.begin_list(item.tokens, *known);
          read_tokens(item.tokens, value);
          break;
        case member::tokens_base64:
          item.begin_list(item.tokens, *known);
          read_base64(item.tokens, value);
          break;
        case member::hashes:
          item.begin_list(item.hashes, *known);
          read_hashes(item.hashes, value);
          break;
        default: item.note(*known, value);
      }
    }
  }

  void read_queries(std::size_t at) {
    std::size_t next = at + 1;
    for (std::uint32_t i = 0; i < nodes_[at].length; ++i) {
      const tape_node& key = nodes_[next];
      const std::size_t value = key.next;
      next = nodes_[value].next;
      if (key.what != kind::string || key.text() != "queries" || nodes_[value].what == kind::nil) continue;
      data_.queries = list_slot{};
      data_.queries.present = true;
      data_.queries.is_wrong = nodes_[value].what != kind::array;
      data_.items.clear();
      if (data_.queries.is_wrong) continue;
      if (nodes_[value].length > request_document::max_queries) {
        data_.too_long = "queries";
        data_.too_long_how = request_document::too_many_queries();
        return;
      }
      for (std::size_t each = value + 1; each < nodes_[value].next; each = nodes_[each].next) read_item(each);
    }
  }

 private:
  void read_tokens(list_slot& slot, std::size_t value) {
    slot.begin = slot.end = data_.tokens.size();
    const tape_node& list = nodes_[value];
    if (list.what == kind::binary) {
      token_bytes bytes;
      bytes.take(list.text(), data_.tokens);
      if (!bytes.finish(data_.tokens)) refuse(slot, refusal_kind::invalid_value);
    } else if (list.what == kind::array) {
      std::size_t index = 0;
      for (std::size_t each = value + 1; each < list.next; each = nodes_[each].next, ++index) {
        const tape_node& token = nodes_[each];
        if (!token.is_integer()) return refuse_element(slot, refusal_kind::invalid_type, index);
        if (token.what == kind::negative_integer || token.bits > std::numeric_limits<std::uint32_t>::max()) {
          return refuse_element(slot, refusal_kind::out_of_range, index);
        }
        data_.tokens.push_back(static_cast<std::uint32_t>(token.bits));
      }
    } else {
      refuse(slot, refusal_kind::invalid_type);
    }
    slot.end = data_.tokens.size();
  }

  void read_base64(list_slot& slot, std::size_t value) {
    slot.begin = slot.end = data_.tokens.size();
    if (nodes_[value].what != kind::string) return refuse(slot, refusal_kind::invalid_type);
    token_bytes bytes;
    if (!bytes.take_base64(nodes_[value].text(), data_.tokens) || !bytes.finish(data_.tokens)) {
      refuse(slot, refusal_kind::invalid_value);
    }
    slot.end = data_.tokens.size();
  }

  void read_hashes(list_slot& slot, std::size_t value) {
    slot.begin = slot.end = data_.hashes.size();
    const tape_node& list = nodes_[value];
    if (list.what != kind::array) return refuse(slot, refusal_kind::invalid_type);
    std::size_t index = 0;
    for (std::size_t each = value + 1; each < list.next; each = nodes_[each].next, ++index) {
      std::uint64_t bits = nodes_[each].bits;
      if (nodes_[each].what == kind::string) {
        if (!parse_hash(nodes_[each].text(), bits)) return refuse_element(slot, refusal_kind::invalid_value, index);
      } else if (!nodes_[each].is_integer()) {
        return refuse_element(slot, refusal_kind::invalid_type, index);
      }
      data_.hashes.emplace_back(bits);
    }
    slot.end = data_.hashes.size();
  }

  const std::vector<tape_node>& nodes_;
  document_data& data_;
};

}  // namespace

checked request_document::read_msgpack(std::string_view body, shape wanted) {
  // What is nested too deep is nothing that a member takes: the query is refused that has it, and the rest of a batch is not.
  const error_code failed = tape_.parse(std::as_bytes(std::span(body)), msgpack_tape::deeper::opaque);
  if (failed == errc::too_many_elements) {
    return refusal{refusal_kind::out_of_range, "the body has too many values; send token_ids as a bin of little-endian u32"};
  }
  if (failed) return refusal{refusal_kind::invalid_msgpack, "the body is not MessagePack: " + failed.message()};
  const auto is_no_text = [](const tape_node& node) { return node.what == kind::string && !core::is_utf8(node.text()); };
  if (wanted != shape::single_of_bytes && std::ranges::any_of(tape_.nodes(), is_no_text)) {
    return refusal{refusal_kind::invalid_msgpack, "the body is not MessagePack: a string is not UTF-8"};
  }
  nodes_ = tape_.nodes().data();
  data_.is_object = tape_.root().what == kind::map;
  if (!data_.is_object) return {};
  reader walk(tape_.nodes(), data_);
  if (wanted != shape::batch) {
    walk.read_item(0);
  } else {
    walk.read_queries(0);
  }
  if (!data_.too_long.empty()) return refusal{refusal_kind::out_of_range, "queries " + data_.too_long_how, "queries"};
  return {};
}

}  // namespace kvc::net
