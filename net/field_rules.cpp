#include "net/field_rules.hpp"

#include <algorithm>
#include <utility>

#include "net/extra_keys.hpp"

namespace kvc::net {

using kind = tape_node::kind;

namespace {

/// An integer too large for 64 bits is read as a real number.
bool is_huge(const tape_node& node) {
  return node.what == kind::real && (node.number >= 18446744073709551616.0 || node.number <= -9223372036854775808.0);
}

bool says_the_same(const tape_node& one, const tape_node& other) {
  if (one.what != other.what) return false;
  return one.what == kind::string ? one.text() == other.text() : one.is_integer() && one.bits == other.bits;
}

/// Whether a member came with the same under both names. Token ids and their base64 are compared by what they stand for.
bool says_what_counts(const request_document& document, const request_item& item, const request_item::rival& rival) {
  if (rival.node != 0) return says_the_same(document.nodes()[rival.node - 1], *document.find(item, rival.meaning));
  const list_slot& list = item.list_of(rival.meaning);
  if (list.is_wrong || rival.list.is_wrong) return false;
  return rival.meaning == member::hashes ? std::ranges::equal(document.hashes_of(rival.list), document.hashes_of(list))
                                         : std::ranges::equal(document.tokens_of(rival.list), document.tokens_of(list));
}

bool is_plain_key(const extra_key& key) {
  using enum extra_key::kind;
  return key.what == text || key.what == bytes || key.what == unsigned_integer || key.what == negative_integer;
}

/// As the typed keys of newer vLLM do.
bool says_its_type(const extra_key& map) {
  for (std::size_t i = 0; i + 1 < map.items.size(); i += 2) {
    if (map.items[i].data == "type" && map.items[i + 1].what == extra_key::kind::text) return true;
  }
  return false;
}

/// Whether an engine could report this key. Others would be hashed as well, and match nothing.
bool is_reported_key(const extra_key& key) {
  if (key.what == extra_key::kind::list) return std::ranges::all_of(key.items, is_plain_key);
  return key.what == extra_key::kind::map ? says_its_type(key) : is_plain_key(key);
}

}  // namespace

field_rules::field_rules(const request_document& document, const request_item& item) : document_(document), item_(item) {
  for (const request_item::rival& each : item.rivals) {
    if (says_what_counts(document, item, each)) continue;
    const std::string other = each.node != 0 ? name_of(each.meaning) : std::string(item.list_of(each.meaning).name);
    refuse(refusal_kind::invalid_value, std::string(each.name) + " and " + other + " are names of the same member; send one of them",
           other);
  }
}

const tape_node* field_rules::value(member wanted) const {
  const tape_node* const node = document_.find(item_, wanted);
  return node == nullptr || node->what == kind::nil ? nullptr : node;
}

void field_rules::refuse(refusal_kind why, std::string sentence, std::string field, std::optional<std::size_t> index) {
  if (!wrong_) wrong_ = refusal{why, std::move(sentence), std::move(field), index};
}

void field_rules::text(member wanted, std::string& out) {
  const tape_node* const node = value(wanted);
  if (wrong_ || node == nullptr) return;
  const std::string name = name_of(wanted);
  if (node->what != kind::string) return refuse(refusal_kind::invalid_type, name + " must be a string", name);
  if (node->length > max_identity_bytes) return refuse(refusal_kind::out_of_range, name + " is longer than 4096 bytes", name);
  out = node->text();
}

void field_rules::required_text(member wanted, std::string_view name, std::string& out) {
  if (wrong_) return;
  const std::string called(name);
  if (value(wanted) == nullptr) return refuse(refusal_kind::missing, called + " is required", called);
  text(wanted, out);
  if (!wrong_ && out.empty()) refuse(refusal_kind::invalid_value, name_of(wanted) + " must not be empty", name_of(wanted));
}

void field_rules::text_or_number(member wanted, std::string& out) {
  const tape_node* const node = value(wanted);
  if (wrong_ || node == nullptr) return;
  if (node->is_integer()) {
    if (node->what == kind::unsigned_integer && node->bits != 0) out = std::to_string(node->bits);
  } else if (node->what == kind::string) {
    text(wanted, out);
  } else {
    refuse(refusal_kind::invalid_type, name_of(wanted) + " must be a string or an integer", name_of(wanted));
  }
}

bool field_rules::number(member wanted, std::uint64_t least, std::uint64_t most, std::uint64_t& out) {
  const tape_node* const node = value(wanted);
  if (wrong_ || node == nullptr) return false;
  const std::string name = name_of(wanted);
  if (!node->is_integer() && !is_huge(*node)) {
    refuse(refusal_kind::invalid_type, name + " must be an integer", name);
  } else if (!node->is_integer() || node->what == kind::negative_integer || node->bits < least || node->bits > most) {
    refuse(refusal_kind::out_of_range, name + " must be between " + std::to_string(least) + " and " + std::to_string(most), name);
  } else {
    out = node->bits;
  }
  return true;
}

void field_rules::required_number(member wanted, std::string_view name, std::uint64_t least, std::uint64_t most, std::uint64_t& out) {
  const bool found = number(wanted, least, most, out);
  if (!found) refuse(refusal_kind::missing, std::string(name) + " is required", std::string(name));
}

void field_rules::boolean(member wanted, bool& out) {
  const tape_node* const node = value(wanted);
  if (wrong_ || node == nullptr) return;
  if (node->what != kind::boolean) return refuse(refusal_kind::invalid_type, name_of(wanted) + " must be true or false", name_of(wanted));
  out = node->bits != 0;
}

bool field_rules::texts(member wanted, std::vector<std::string>& out) {
  const tape_node* const node = value(wanted);
  if (wrong_ || node == nullptr) return false;
  const std::string name = name_of(wanted);
  if (node->what != kind::array) {
    refuse(refusal_kind::invalid_type, name + " must be a list of strings", name);
    return true;
  }
  const tape_node* const nodes = document_.nodes();
  std::size_t index = 0;
  for (const tape_node* each = node + 1; each < nodes + node->next; each = nodes + each->next, ++index) {
    if (each->what != kind::string) {
      refuse(refusal_kind::invalid_type, name + " must be a list of strings", name, index);
      return true;
    }
    if (each->length > max_identity_bytes) {
      refuse(refusal_kind::out_of_range, "a string in " + name + " is longer than 4096 bytes", name, index);
      return true;
    }
    out.emplace_back(each->text());
  }
  return true;
}

void field_rules::extra_keys(std::string_view lora, std::string_view salt, std::vector<std::string>& out) {
  const tape_node* const node = value(member::extra_keys);
  if (wrong_ || node == nullptr) return;
  const std::string name = name_of(member::extra_keys);
  if (node->what != kind::array) return refuse(refusal_kind::invalid_type, name + " must be a list with one entry per block", name);
  tape_value block = tape_value(document_.nodes(), static_cast<std::uint32_t>(node - document_.nodes())).first();
  std::vector<extra_key> keys;
  for (std::size_t i = 0; i < node->length; ++i, block = block.next()) {
    const bool is_list = !block.has_value() || block.is(kind::array);
    if (!is_list || !read_extra_keys(block, keys) || !std::ranges::all_of(keys, is_reported_key)) {
      return refuse(refusal_kind::invalid_type,
                    "an entry of " + name + " must be null or a list of strings, integers, bytes or pairs, 4096 at most", name, i);
    }
    extra_key_filter filter;  // engines repeat in the keys what the partition says already
    filter.lora = lora;
    filter.salt = i == 0 ? salt : std::string_view();
    out.push_back(encode_extra_keys(keys, filter));
  }
}

void field_rules::required_list(const list_slot& list, std::string_view name, std::string_view what) {
  if (wrong_) return;
  const std::string called(list.present ? list.name : name);
  if (!list.present) return refuse(refusal_kind::missing, called + " is required", called);
  if (!list.is_wrong) return;
  const std::optional<std::size_t> index = list.at_element ? std::optional(list.index) : std::nullopt;
  refuse(list.why, called + " must be " + std::string(what), called, index);
}

}  // namespace kvc::net
