// A request body, whatever its form: long lists as plain numbers, known members as a small tree, everything else forgotten.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/ids.hpp"
#include "net/http_message.hpp"
#include "net/msgpack_tape.hpp"
#include "net/refusal.hpp"
#include "net/request_members.hpp"

namespace kvc::net {

/// One long list of a request: where its elements lie, or the first of them that is wrong.
struct list_slot {
  bool present = false;
  bool is_wrong = false;
  refusal_kind why = refusal_kind::invalid_type;
  std::string_view name;    ///< as the client called it
  bool at_element = false;  ///< the fault lies at element `index`, not with the member as a whole
  std::size_t index = 0;
  std::size_t begin = 0;  ///< in the document's tokens or hashes
  std::size_t end = 0;
};

/// One object with known members: the body itself, or one element of `queries`. A member counts as it came last, under whatever name.
struct request_item {
  bool is_object = false;
  std::array<std::uint32_t, member_count> nodes{};     ///< node of each member's value, counted from 1; 0: absent
  std::array<std::string_view, member_count> names{};  ///< as the client called it
  list_slot tokens;
  list_slot hashes;
  /// What a member came with under another name than the one that counts.
  struct rival {
    member meaning{};
    std::string_view name;
    std::uint32_t node = 0;  ///< as in `nodes`; 0: a long list
    list_slot list;
  };
  /// One for each such name, as it came last; of clients that know several servers they say the same as what counts.
  std::vector<rival> rivals;

  /// Takes down a member's value. Null is as good as absent and must not be noted, or it would take the place of a value.
  void note(const known_name& known, std::size_t node) {
    std::string_view& name = names[static_cast<std::size_t>(known.meaning)];
    std::uint32_t& place = nodes[static_cast<std::size_t>(known.meaning)];
    if (!name.empty() && name != known.name) set_aside({known.meaning, name, place, {}}, known.name);
    name = known.name;
    place = static_cast<std::uint32_t>(node + 1);
  }
  /// Begins a long list, whose value is not null either.
  void begin_list(list_slot& list, const known_name& known) {
    if (list.present && list.name != known.name) set_aside({known.meaning, list.name, 0, list}, known.name);
    list = list_slot{};
    list.present = true;
    list.name = known.name;
  }
  /// The long list a member stands for, which tokens share with their base64.
  [[nodiscard]] const list_slot& list_of(member meaning) const noexcept { return meaning == member::hashes ? hashes : tokens; }

 private:
  void set_aside(rival earlier, std::string_view now);
};

/// What the readers fill in.
struct document_data {
  std::vector<request_item> items;
  std::vector<std::uint32_t> tokens;   ///< of all items, each item's together
  std::vector<core::seq_hash> hashes;  ///< the same
  std::vector<tape_node> tree;         ///< values of known members, when the form has no tape of its own
  std::string text;                    ///< their strings
  bool is_object = false;              ///< the body is an object
  list_slot queries;                   ///< of a batch: whether it was there and a list
  std::string_view too_long;           ///< the member that broke a bound of the reader
  std::string too_long_how;            ///< which, as what a refusal says of that member
};

/// A parsed body. Kept by a lane and reused; belongs to one request at a time.
///
/// Bounds, whatever arrives: members' trees hold `max_tree_nodes` values and `max_text_bytes` of text, nested `max_tree_depth` deep; a
/// batch holds `max_queries`. Lists of numbers are bounded by the body, of which every element needs a byte at least.
/// Lane: one at a time.
class request_document {
 public:
  /// `single_of_bytes`: as `single`, and texts may be no UTF-8: whoever reads them looks.
  enum class shape : std::uint8_t { single, batch, single_of_bytes };

  static constexpr std::size_t max_tree_nodes = 1U << 20;
  static constexpr std::size_t max_text_bytes = 16U << 20;
  static constexpr std::size_t max_tree_depth = 8;
  static constexpr std::size_t max_queries = 4'096;

  /// What a refusal says of `queries`, whatever the form of the body.
  [[nodiscard]] static std::string too_many_queries() { return "holds more than " + std::to_string(max_queries) + " elements"; }

  /// Reads a whole body, which must outlive the use of the document. Refuses what is not in the form, not an object, or over a bound; what
  /// is wrong with single members is found out when they are asked for.
  [[nodiscard]] checked read(std::string_view body, wire_form form, shape wanted);

  [[nodiscard]] std::span<const request_item> items() const noexcept { return data_.items; }

  /// Null when the item has no such member.
  [[nodiscard]] const tape_node* find(const request_item& item, member wanted) const noexcept {
    const std::uint32_t node = item.nodes[static_cast<std::size_t>(wanted)];
    return node == 0 ? nullptr : nodes_ + (node - 1);
  }
  /// First node of the whole document, for walking containers by `next`.
  [[nodiscard]] const tape_node* nodes() const noexcept { return nodes_; }

  [[nodiscard]] std::span<const std::uint32_t> tokens_of(const list_slot& list) const noexcept {
    return std::span(data_.tokens).subspan(list.begin, list.end - list.begin);
  }
  [[nodiscard]] std::span<const std::uint32_t> tokens_of(const request_item& item) const noexcept { return tokens_of(item.tokens); }
  [[nodiscard]] std::span<const core::seq_hash> hashes_of(const list_slot& list) const noexcept {
    return std::span(data_.hashes).subspan(list.begin, list.end - list.begin);
  }
  [[nodiscard]] std::span<const core::seq_hash> hashes_of(const request_item& item) const noexcept { return hashes_of(item.hashes); }

 private:
  void clear();
  [[nodiscard]] checked read_json(std::string_view body, shape wanted);
  [[nodiscard]] checked read_msgpack(std::string_view body, shape wanted);

  document_data data_;
  msgpack_tape tape_;
  const tape_node* nodes_ = nullptr;
};

}  // namespace kvc::net
