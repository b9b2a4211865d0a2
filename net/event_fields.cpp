#include "net/event_fields.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace kvc::net {
namespace {

using kind = tape_value::kind;

constexpr std::size_t folded_bytes = 8;  // of a digest: its last 8, big-endian, which is the integer form of the same name
constexpr std::size_t few_hashes = 16;   // up to here comparing all pairs beats sorting a copy

/// One block's name: an integer of either sign, or a digest.
bool read_hash(tape_value from, core::engine_hash& out) {
  if (from.is_integer()) {
    out = core::engine_hash{from.node().bits};
    return true;
  }
  if (!from.is(kind::binary) || from.length() == 0) return false;
  const auto bytes = from.bytes();
  std::uint64_t folded = 0;
  for (const std::byte byte : bytes.last(std::min(bytes.size(), folded_bytes))) folded = folded << 8 | std::to_integer<std::uint64_t>(byte);
  out = core::engine_hash{folded};
  return true;
}

reject_reason read_hashes(tape_value from, std::vector<core::engine_hash>& out) {
  if (!from.has_value()) return reject_reason::missing_field;
  if (!from.is(kind::array)) return reject_reason::wrong_type;
  if (from.length() > max_event_hashes) return reject_reason::too_many_elements;
  out.resize(from.length());
  tape_value item = from.first();
  for (core::engine_hash& hash : out) {
    if (!read_hash(item, hash)) return reject_reason::wrong_type;
    item = item.next();
  }
  return reject_reason::none;
}

/// A token, or the first word of a pair (a page of bigrams).
std::optional<std::uint32_t> read_token(tape_value from) {
  const bool is_pair = from.is(kind::array) && from.length() > 0;
  return is_pair ? from.first().as_u32() : from.as_u32();
}

reject_reason read_tokens(tape_value from, std::vector<std::uint32_t>& out) {
  if (!from.has_value()) return reject_reason::none;
  if (!from.is(kind::array)) return reject_reason::wrong_type;
  if (from.length() > max_event_tokens) return reject_reason::too_many_elements;
  out.resize(from.length());
  tape_value item = from.first();
  for (std::uint32_t& token : out) {
    const std::optional<std::uint32_t> read = read_token(item);
    if (!read) return reject_reason::bad_token;
    token = *read;
    item = item.next();
  }
  return reject_reason::none;
}

/// Takes a text that may be left out.
bool read_text(tape_value from, std::optional<std::string>& out) {
  if (!from.has_value()) return true;
  if (!from.is(kind::string)) return false;
  out = from.text();
  return true;
}

/// The same where an empty text says as little as none.
bool read_name(tape_value from, std::optional<std::string>& out) {
  if (!read_text(from, out)) return false;
  if (out && out->empty()) out.reset();
  return true;
}

bool read_number(tape_value from, std::uint32_t& out) {
  if (!from.has_value()) return true;
  const std::optional<std::uint32_t> read = from.as_u32();
  out = read.value_or(0);
  return read.has_value();
}

/// A number, or one in decimal text as stores write it. What is neither is no group of ours and stays 0.
std::uint32_t read_group(tape_value from) {
  if (!from.is(kind::string)) return from.as_u32().value_or(0);
  std::uint64_t group = 0;
  for (const char digit : from.text()) {
    if (digit < '0' || digit > '9' || group > 0xFFFF) return 0;
    group = group * 10 + static_cast<std::uint64_t>(digit - '0');
  }
  return static_cast<std::uint32_t>(group);
}

/// Only groups whose blocks stand for the whole prefix may answer for one. A missing kind is a full one (kv-events.md section 10, case 15).
bool is_prefix_complete(tape_value from) {
  if (!from.is(kind::string)) return true;
  constexpr std::array<std::string_view, 3> complete{"full_attention", "mla_attention", "sink_full_attention"};
  return std::ranges::find(complete, from.text()) != complete.end();
}

reject_reason read_scope(const event_fields& fields, decode_context& context, core::event_scope& scope) {
  if (fields.locality.is(kind::string) && fields.locality.text() != "LOCAL") return reject_reason::remote;
  if (!read_name(fields.tenant, scope.tenant) || !read_name(fields.model, scope.model) || !read_name(fields.salt, scope.salt) ||
      !read_text(fields.lora, scope.lora) || !read_number(fields.block_size, scope.block_size)) {
    return reject_reason::wrong_type;
  }
  if (fields.medium.has_value()) {
    if (!fields.medium.is(kind::string)) return reject_reason::wrong_type;
    if (!fields.medium.text().empty()) scope.medium = context.media->intern(fields.medium.text());
  }
  if (fields.rank.has_value()) {
    const std::optional<std::uint32_t> rank = fields.rank.as_u32();
    if (!rank) return reject_reason::wrong_type;
    scope.rank = core::dp_rank{*rank};
  }
  scope.group = read_group(fields.group);
  scope.prefix_complete = is_prefix_complete(fields.spec_kind);
  return reject_reason::none;
}

bool has_repeats(const std::vector<core::engine_hash>& hashes, decode_context& context) {
  if (hashes.size() <= few_hashes) {
    for (auto at = hashes.begin(); at != hashes.end(); ++at) {
      if (std::find(hashes.begin(), at, *at) != at) return true;
    }
    return false;
  }
  context.sorted = hashes;
  std::ranges::sort(context.sorted);
  return std::ranges::adjacent_find(context.sorted) != context.sorted.end();
}

reject_reason read_place(const event_fields& fields, core::stored_event& event) {
  if (fields.parent.has_value()) {
    core::engine_hash parent;
    if (!read_hash(fields.parent, parent)) return reject_reason::wrong_type;
    event.parent = parent;
  }
  if (fields.base.has_value()) {
    const std::optional<std::uint32_t> base = fields.base.as_u32();
    if (!base) return reject_reason::wrong_type;
    event.base = core::position{*base};
  }
  return reject_reason::none;
}

/// Key lists aligned with the blocks. A value of another type in this place is metadata of a publisher that means something else by it.
reject_reason read_extra(const event_fields& fields, decode_context& context, core::stored_event& event) {
  if (!fields.extra_keys.is(kind::array)) return reject_reason::none;
  const std::size_t blocks = std::min<std::size_t>(fields.extra_keys.length(), event.hashes.size());
  tape_value item = fields.extra_keys.first();
  for (std::size_t i = 0; i < blocks; ++i, item = item.next()) {
    if (!item.has_value()) continue;
    if (!read_extra_keys(item, context.keys)) return reject_reason::wrong_type;
    if (!event.scope.lora && !typed_lora(context.keys).empty()) event.scope.lora = typed_lora(context.keys);
    extra_key_filter filter;
    if (event.scope.lora) filter.lora = *event.scope.lora;
    if (i == 0 && !event.parent) filter.salt = event.scope.salt ? std::string_view(*event.scope.salt) : context.salt;
    std::string encoded = encode_extra_keys(context.keys, filter);
    if (encoded.empty()) continue;
    event.extra_keys.resize(i + 1);
    event.extra_keys[i] = std::move(encoded);
  }
  return reject_reason::none;
}

/// The standard's hashes identify blocks by themselves. A store's names, and whatever comes with tokens, do not.
bool has_standard_hashes(const event_fields& fields, const decode_context& context) {
  return fields.is_envelope && !fields.tokens.has_value() && !fields.object_key.has_value() &&
         context.type != core::publisher_type::mooncake;
}

reject_reason fill(const event_fields& fields, decode_context& context, core::stored_event& event) {
  reject_reason why = read_scope(fields, context, event.scope);
  if (why == reject_reason::none) why = read_hashes(fields.hashes, event.hashes);
  if (why == reject_reason::none) why = read_place(fields, event);
  if (why == reject_reason::none) why = read_tokens(fields.tokens, event.tokens);
  if (why == reject_reason::none) why = read_extra(fields, context, event);
  if (why != reject_reason::none) return why;
  event.has_tokens = !event.tokens.empty();
  event.standard_hashes = has_standard_hashes(fields, context);
  if (event.parent && std::ranges::find(event.hashes, *event.parent) != event.hashes.end()) return reject_reason::own_parent;
  // A placeholder (a copy in another tier, without tokens and parent) is a list of names, not a chain: overlapping chunks name one twice.
  const bool is_chain = event.has_tokens || event.parent || event.standard_hashes;
  return is_chain && has_repeats(event.hashes, context) ? reject_reason::repeated_hash : reject_reason::none;
}

reject_reason fill(const event_fields& fields, decode_context& context, core::removed_event& event) {
  const reject_reason why = read_scope(fields, context, event.scope);
  return why == reject_reason::none ? read_hashes(fields.hashes, event.hashes) : why;
}

reject_reason fill(const event_fields& fields, decode_context& context, core::cleared_event& event) {
  return read_scope(fields, context, event.scope);
}

template <class Event>
reject_reason append(const event_fields& fields, decode_context& context, std::vector<core::event>& out) {
  core::event& place = out.emplace_back(std::in_place_type<Event>);
  const reject_reason why = fill(fields, context, std::get<Event>(place));
  if (why != reject_reason::none) out.pop_back();
  return why;
}

}  // namespace

bool take_common_field(std::string_view name, tape_value value, event_fields& fields) {
  using slot = std::pair<std::string_view, tape_value event_fields::*>;
  static constexpr std::array<slot, 12> slots{
      slot{"token_ids", &event_fields::tokens},      slot{"block_size", &event_fields::block_size},
      slot{"medium", &event_fields::medium},         slot{"lora_name", &event_fields::lora},
      slot{"extra_keys", &event_fields::extra_keys}, slot{"locality", &event_fields::locality},
      slot{"tenant_id", &event_fields::tenant},      slot{"model_name", &event_fields::model},
      slot{"additional_salt", &event_fields::salt},  slot{"dp_rank", &event_fields::rank},
      slot{"base_block_idx", &event_fields::base},   slot{"kv_cache_spec_kind", &event_fields::spec_kind},
  };
  for (const auto& [known, field] : slots) {
    if (known != name) continue;
    fields.*field = value;
    return true;
  }
  return false;
}

reject_reason append_event(const event_fields& fields, decode_context& context, std::vector<core::event>& out) {
  switch (fields.kind) {
    case event_kind::stored:
      return append<core::stored_event>(fields, context, out);
    case event_kind::removed:
      return append<core::removed_event>(fields, context, out);
    case event_kind::cleared:
      return append<core::cleared_event>(fields, context, out);
    case event_kind::unknown:
      break;
  }
  return reject_reason::unknown_tag;
}

}  // namespace kvc::net
