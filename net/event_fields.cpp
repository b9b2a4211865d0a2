#include "net/event_fields.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <string>
#include <utility>

#include "net/event_codec_tensorrt.hpp"
#include "net/event_hash.hpp"
#include "net/field_rules.hpp"
#include "net/same_bytes.hpp"

namespace kvc::net {
namespace {

using kind = tape_value::kind;

/// Names that are all integers, the usual case, without asking each what it is. False: read them one by one.
bool read_integers(tape_value from, std::vector<core::engine_hash>& out) {
  const std::span<const tape_node> items = from.flat_elements();
  if (items.size() != out.size()) return false;
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (!items[i].is_integer()) return false;
    out[i] = core::engine_hash{items[i].bits};
  }
  return true;
}

reject_reason read_hashes(const event_fields& fields, decode_context& context, std::vector<core::engine_hash>& out) {
  const tape_value from = fields.hashes;
  if (!from.has_value() && fields.single_hash.has_value()) {
    return read_name(fields.single_hash, true, *context.digests, out.emplace_back()) ? reject_reason::none : reject_reason::wrong_type;
  }
  if (!from.has_value()) return reject_reason::missing_field;
  if (!from.is(kind::array)) return reject_reason::wrong_type;
  if (from.length() > max_event_hashes) return reject_reason::too_many_elements;
  out.resize(from.length());
  if (read_integers(from, out)) return reject_reason::none;
  tape_value item = from.first();
  for (core::engine_hash& hash : out) {
    if (!read_name(item, fields.has_text_hashes, *context.digests, hash)) return reject_reason::wrong_type;
    item = item.next();
  }
  return reject_reason::none;
}

/// A name that may be left out, or be an empty text, which is the same.
bool read_optional_name(tape_value from, const event_fields& fields, decode_context& context, std::optional<core::engine_hash>& out) {
  const bool is_unset = fields.has_text_hashes && from.is(kind::string) && from.length() == 0;
  if (!from.has_value() || is_unset) return true;
  return read_name(from, fields.has_text_hashes, *context.digests, out.emplace());
}

/// A token, or the first word of a pair (a page of bigrams).
std::optional<std::uint32_t> read_token(tape_value from) {
  const bool is_pair = from.is(kind::array) && from.length() > 0;
  return is_pair ? from.first().as_u32() : from.as_u32();
}

/// The same for tokens that are all numbers.
bool read_plain_tokens(tape_value from, std::vector<std::uint32_t>& out) {
  const std::span<const tape_node> items = from.flat_elements();
  if (items.size() != out.size()) return false;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const tape_node& item = items[i];
    if (item.what != kind::unsigned_integer || item.bits > std::numeric_limits<std::uint32_t>::max()) return false;
    out[i] = static_cast<std::uint32_t>(item.bits);
  }
  return true;
}

reject_reason read_tokens(tape_value from, std::vector<std::uint32_t>& out) {
  if (!from.has_value()) return reject_reason::none;
  if (!from.is(kind::array)) return reject_reason::wrong_type;
  if (from.length() > max_event_tokens) return reject_reason::too_many_elements;
  out.resize(from.length());
  if (read_plain_tokens(from, out)) return reject_reason::none;
  tape_value item = from.first();
  for (std::uint32_t& token : out) {
    const std::optional<std::uint32_t> read = read_token(item);
    if (!read) return reject_reason::bad_token;
    token = *read;
    item = item.next();
  }
  return reject_reason::none;
}

/// Takes a text that may be left out. It names a partition or an owner, which keeps it, so it has the bound that it has in a request.
reject_reason read_text(tape_value from, std::optional<std::string>& out) {
  if (!from.has_value()) return reject_reason::none;
  if (!from.is(kind::string)) return reject_reason::wrong_type;
  if (from.length() > max_identity_bytes) return reject_reason::too_many_elements;
  out = from.text();
  return reject_reason::none;
}

/// The same where an empty text says as little as none.
reject_reason read_word(tape_value from, std::optional<std::string>& out) {
  const reject_reason why = read_text(from, out);
  if (out && out->empty()) out.reset();
  return why;
}

/// The adapter of who knows its number only, as the text that a query makes of `lora_id`. 0 and less are no adapter's: engines number
/// theirs from 1, and a relay fills in 0 where its engine has said nothing. What a registration says of the adapter is said by name.
reject_reason read_adapter_id(tape_value from, const decode_context& context, core::event_scope& scope) {
  if (scope.lora || context.has_adapter) return reject_reason::none;
  if (from.is(kind::unsigned_integer) && from.node().bits != 0) scope.lora = std::to_string(from.node().bits);
  return from.is(kind::string) ? read_word(from, scope.lora) : reject_reason::none;
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

/// Only groups whose blocks stand for the whole prefix may answer for one. A missing kind is a full one.
bool is_prefix_complete(tape_value from) {
  return !from.is(kind::string) || is_prefix_complete_kind(from.text());
}

/// Blocks of a remote cache, or of a tier that somebody else owns, say nothing about this instance's own. (kv-events.md section 10,
/// case 21.)
bool is_remote(const event_fields& fields) {
  const bool is_elsewhere = fields.locality.is(kind::string) && fields.locality.text() != "LOCAL";
  return is_elsewhere || (fields.ownership.is(kind::string) && fields.ownership.length() != 0);
}

/// Whether it is a word for a medium, or none.
bool is_medium(tape_value from) {
  return !from.has_value() || from.is(kind::string);
}

/// Learns the word when it is new, so only once nothing else is wrong with its event. Precondition: `is_medium`.
void read_medium(tape_value from, decode_context& context, std::optional<core::medium_id>& out) {
  if (!from.has_value() || from.length() == 0) return;
  if (from.text() == context.last_medium) {  // most streams say the same word in every event
    out = context.last_medium_id;
    return;
  }
  out = context.media->intern(from.text());
  if (core::medium_table::is_known_word(*out, from.text())) {
    context.last_medium = from.text();
    context.last_medium_id = *out;
  } else {
    context.counts->add_unknown(core::word_kind::medium, from.text());
  }
}

reject_reason read_object_key(tape_value from, std::string& out) {
  if (!from.has_value()) return reject_reason::none;
  if (!from.is(kind::string)) return reject_reason::wrong_type;
  if (from.length() > max_object_key_bytes) return reject_reason::too_many_elements;
  out = from.text();
  return reject_reason::none;
}

/// All but where the blocks lie, see `read_media`.
reject_reason read_scope(const event_fields& fields, core::event_scope& scope) {
  if (is_remote(fields)) return reject_reason::remote;
  for (const reject_reason why :
       {read_word(fields.tenant, scope.tenant), read_word(fields.model, scope.model), read_word(fields.salt, scope.salt),
        read_word(fields.backend, scope.backend), read_text(fields.lora, scope.lora)}) {
    if (why != reject_reason::none) return why;
  }
  if (!read_number(fields.block_size, scope.block_size) || !is_medium(fields.medium)) return reject_reason::wrong_type;
  if (fields.rank.has_value()) {
    const std::optional<std::uint32_t> rank = fields.rank.as_u32();
    if (!rank) return reject_reason::wrong_type;
    scope.rank = core::dp_rank{*rank};
  }
  scope.group = read_group(fields.group);
  scope.names_span_groups = fields.has_standard_hashes;
  scope.prefix_complete = is_prefix_complete(fields.spec_kind);
  return read_object_key(fields.object_key, scope.object_key);
}

reject_reason read_place(const event_fields& fields, decode_context& context, core::stored_event& event) {
  if (!read_optional_name(fields.parent, fields, context, event.parent)) return reject_reason::wrong_type;
  if (fields.base.has_value()) {
    const std::optional<std::uint32_t> base = fields.base.as_u32();
    if (!base) return reject_reason::wrong_type;
    event.base = core::position{*base};
  }
  return reject_reason::none;
}

/// Key lists aligned with the blocks. A value of another type in this place is metadata of a publisher that means something else by it.
reject_reason read_extra(const event_fields& fields, decode_context& context, core::stored_event& event) {
  const bool has_keys = fields.extra_keys.is(kind::array);
  const tape_value lists = has_keys ? fields.extra_keys : fields.mm_infos;
  if (!lists.is(kind::array)) return reject_reason::none;
  const std::size_t blocks = std::min<std::size_t>(lists.length(), event.hashes.size());
  tape_value item = lists.first();
  for (std::size_t i = 0; i < blocks; ++i, item = item.next()) {
    if (!item.has_value()) continue;
    const bool is_read = has_keys ? read_extra_keys(item, context.keys) : read_mm_objects(item, context.keys);
    if (!is_read) return reject_reason::wrong_type;
    if (const std::string_view lora = typed_lora(context.keys); !event.scope.lora && !lora.empty()) {
      if (lora.size() > max_identity_bytes) return reject_reason::too_many_elements;
      event.scope.lora = lora;
    }
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

/// Whether all of an object's copies can be read. One that cannot spoils the list: without it the object might look gone.
reject_reason check_replicas(tape_value from) {
  if (!from.has_value()) return reject_reason::none;
  if (!from.is(kind::array)) return reject_reason::wrong_type;
  if (from.length() > max_object_replicas) return reject_reason::too_many_elements;
  tape_value item = from.first();
  for (std::uint32_t i = 0; i < from.length(); ++i, item = item.next()) {
    if (!item.is(kind::array) || item.length() < 2) return reject_reason::wrong_type;
    const tape_value medium = item.first();
    const tape_value location = medium.next();
    if (!medium.is(kind::string) || medium.length() == 0 || !location.is(kind::string)) return reject_reason::wrong_type;
    if (location.length() > max_object_key_bytes) return reject_reason::too_many_elements;
  }
  return reject_reason::none;
}

/// Where the blocks of an event lie that has been read but for this.
void read_media(const event_fields& fields, decode_context& context, core::event_scope& scope) {
  read_medium(fields.medium, context, scope.medium);
  const bool is_replica = scope.medium && fields.object_key.has_value() && fields.medium.is(kind::string);
  if (is_replica) scope.replica = core::replica_kind_of(fields.medium.text(), *scope.medium, false);
}

void read_media(const event_fields& fields, decode_context& context, core::object_event& event) {
  read_media(fields, context, event.scope);
  if (!fields.replicas.has_value()) return;
  tape_value item = fields.replicas.first();
  for (std::uint32_t i = 0; i < fields.replicas.length(); ++i, item = item.next()) {
    std::optional<core::medium_id> medium;
    read_medium(item.first(), context, medium);
    const core::replica_kind means = core::replica_kind_of(item.first().text(), *medium, true);
    event.replicas.push_back({*medium, std::string(item.first().next().text()), means});
  }
}

template <class Event>
void read_media(const event_fields& fields, decode_context& context, Event& event) {
  read_media(fields, context, event.scope);
}

reject_reason fill(const event_fields& fields, decode_context& context, core::stored_event& event) {
  reject_reason why = read_scope(fields, event.scope);
  if (why == reject_reason::none) why = read_hashes(fields, context, event.hashes);
  if (why == reject_reason::none) why = read_place(fields, context, event);
  if (why == reject_reason::none) why = read_tokens(fields.tokens, event.tokens);
  if (why == reject_reason::none) why = read_extra(fields, context, event);
  if (why == reject_reason::none) why = read_adapter_id(fields.lora_id, context, event.scope);  // last: keys with types may tell the name
  if (why != reject_reason::none) return why;
  event.scope.takes_kind_of_group = fields.group.as_u32().has_value() && !fields.spec_kind.is(kind::string);
  event.has_tokens = !event.tokens.empty();
  event.standard_hashes = fields.has_standard_hashes && !event.has_tokens;
  if (event.parent && std::ranges::find(event.hashes, *event.parent) != event.hashes.end()) return reject_reason::own_parent;
  // A placeholder (a copy in another tier, without tokens and parent) is a list of names, not a chain: overlapping chunks name one twice.
  const bool is_chain = event.has_tokens || event.parent || event.standard_hashes;
  return is_chain && has_repeats(event.hashes, context.sorted) ? reject_reason::repeated_hash : reject_reason::none;
}

reject_reason fill(const event_fields& fields, decode_context& context, core::removed_event& event) {
  event.all_media = fields.is_on_all_media;
  reject_reason why = read_scope(fields, event.scope);
  if (why == reject_reason::none) why = read_adapter_id(fields.lora_id, context, event.scope);
  return why == reject_reason::none ? read_hashes(fields, context, event.hashes) : why;
}

reject_reason fill(const event_fields& fields, decode_context&, core::cleared_event& event) {
  return read_scope(fields, event.scope);
}

reject_reason fill(const event_fields& fields, decode_context& context, core::object_event& event) {
  event.what = fields.change;
  event.all_media = fields.is_on_all_media || !fields.medium.has_value();
  reject_reason why = read_scope(fields, event.scope);
  if (why == reject_reason::none && event.scope.object_key.empty()) why = reject_reason::missing_field;
  if (why == reject_reason::none) why = check_replicas(fields.replicas);
  if (why == reject_reason::none) why = read_tokens(fields.tokens, event.tokens);
  if (why != reject_reason::none) return why;
  const bool has_names = read_optional_name(fields.single_hash, fields, context, event.name) &&
                         read_optional_name(fields.parent, fields, context, event.parent);
  if (!has_names) return reject_reason::wrong_type;
  return event.name && event.parent == event.name ? reject_reason::own_parent : reject_reason::none;
}

template <class Event>
reject_reason append(const event_fields& fields, decode_context& context, std::vector<core::event>& out) {
  core::event& place = out.emplace_back(std::in_place_type<Event>);
  auto& event = std::get<Event>(place);
  const reject_reason why = fill(fields, context, event);
  if (why == reject_reason::none) {
    read_media(fields, context, event);
  } else {
    out.pop_back();
  }
  return why;
}

}  // namespace

std::optional<core::event_kind> kind_of_tag(std::string_view tag) noexcept {
  if (is_same(tag, "BlockStored")) return core::event_kind::stored;
  if (is_same(tag, "BlockRemoved")) return core::event_kind::removed;
  if (tag == "AllBlocksCleared") return core::event_kind::cleared;
  return std::nullopt;
}

bool is_prefix_complete_kind(std::string_view kind) noexcept {
  constexpr std::array<std::string_view, 3> complete{"full_attention", "mla_attention", "sink_full_attention"};
  return std::ranges::find(complete, kind) != complete.end();
}

reject_reason take_tag(event_fields& fields, decode_context& context) {
  if (!fields.type.is(kind::string)) return reject_reason::not_an_event;
  fields.kind = kind_of_tag(fields.type.text());
  if (fields.kind) return reject_reason::none;
  context.counts->add_unknown(core::word_kind::tag, fields.type.text());
  return reject_reason::unknown_tag;
}

reject_reason append_event(const event_fields& fields, decode_context& context, std::vector<core::event>& out) {
  if (!fields.kind) return reject_reason::unknown_tag;
  switch (*fields.kind) {
    case core::event_kind::stored: return append<core::stored_event>(fields, context, out);
    case core::event_kind::removed: return append<core::removed_event>(fields, context, out);
    case core::event_kind::cleared: return append<core::cleared_event>(fields, context, out);
    case core::event_kind::object: return append<core::object_event>(fields, context, out);
  }
  return reject_reason::unknown_tag;
}

}  // namespace kvc::net
