#include "net/plain_query.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>

#include "net/plain_json.hpp"

namespace kvc::net {
namespace {

using kind = tape_node::kind;

/// Longer texts are for the general reader, which has a bound for them.
constexpr std::size_t longest_text = 4'096;

static_assert(member_count <= 64, "members_seen has a bit for each");

class plain_query {
 public:
  plain_query(std::string_view body, document_data& into) : at_(body), into_(into) {}

  bool read() {
    into_.is_object = true;
    item().is_object = true;
    return at_.object([this](std::string_view name) { return read_member(name); }) && at_.is_at_end();
  }

 private:
  bool read_member(std::string_view name) {
    const known_name* const known = find_known(name);
    if (known == nullptr) return read_scalar() && forget();
    if (!seen_.add(static_cast<unsigned>(known->meaning))) return false;
    switch (known->meaning) {
      case member::tokens: return read_list(item().tokens, known->name, into_.tokens, [this] { return read_tokens(); });
      case member::hashes: return read_list(item().hashes, known->name, into_.hashes, [this] { return read_hashes(); });
      case member::tokens_base64:  // stands for the same as tokens, so that the last one would have to win
      case member::queries: return false;
      default: item().note(*known, into_.tree.size()); return read_scalar();
    }
  }

  template <class Elements, class Read>
  bool read_list(list_slot& slot, std::string_view name, const Elements& elements, Read read) {
    slot.present = true;
    slot.name = name;
    slot.begin = elements.size();
    if (!read()) return false;
    slot.end = elements.size();
    return true;
  }

  bool read_tokens() {
    return at_.short_numbers([this](std::span<const std::uint64_t> some) {
      std::uint64_t all_bits = 0;
      for (const std::uint64_t token : some) all_bits |= token;
      if (all_bits > std::numeric_limits<std::uint32_t>::max()) return false;
      const std::size_t before = into_.tokens.size();
      into_.tokens.resize(before + some.size());
      std::ranges::transform(some, into_.tokens.data() + before, [](std::uint64_t token) { return static_cast<std::uint32_t>(token); });
      return true;
    });
  }

  bool read_hashes() {
    return at_.long_numbers([this](std::uint64_t hash) {
      into_.hashes.emplace_back(hash);
      return true;
    });
  }

  /// One value as the newest node of the tree.
  bool read_scalar() {
    tape_node node;
    node.next = static_cast<std::uint32_t>(into_.tree.size() + 1);
    const char first = at_.next();
    if (first == '"') {
      std::string_view text;
      if (!at_.text(text) || text.size() > longest_text) return false;
      node.what = kind::string;
      node.length = static_cast<std::uint32_t>(text.size());
      node.data = text.data();
    } else if (first == 't' || first == 'f') {
      bool value = false;
      if (!at_.boolean(value)) return false;
      node.what = kind::boolean;
      node.bits = value ? 1 : 0;
    } else {
      std::int64_t value = 0;
      if (first == '-' || !at_.whole(value)) return false;
      node.what = kind::unsigned_integer;
      node.bits = static_cast<std::uint64_t>(value);
    }
    into_.tree.push_back(node);
    return true;
  }

  /// Drops the value that was read last: nobody knows its name.
  bool forget() {
    into_.tree.pop_back();
    return true;
  }

  request_item& item() { return into_.items.empty() ? into_.items.emplace_back() : into_.items.front(); }

  plain_json at_;
  document_data& into_;
  members_seen seen_;
};

}  // namespace

bool read_plain_query(std::string_view body, document_data& into) {
  return plain_query(body, into).read();
}

}  // namespace kvc::net
