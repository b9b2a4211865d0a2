#include "net/event_codec_mooncake.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

#include "net/event_codec_standard.hpp"

namespace kvc::net {
namespace {

using kind = tape_value::kind;
using change = core::object_event::change;
using place = tape_value event_fields::*;

// What stands at index 1, 2, ... of an array; updates have the first two. (Source: seed 004.)
constexpr std::array<place, 7> object_places{
    &event_fields::object_key,  &event_fields::replicas, &event_fields::model,  &event_fields::block_size,
    &event_fields::single_hash, &event_fields::parent,   &event_fields::tokens,
};
constexpr std::size_t update_places = 2;

bool has_elements(tape_value value) {
  return value.is(kind::array) && value.length() != 0;
}

/// The kind under either of the two ways in which stores tell it.
reject_reason take_kind(event_fields& fields, decode_context& context) {
  const bool has_word = fields.event_type.has_value() || (fields.type.is(kind::string) && kind_of_word(fields.type.text()));
  return has_word ? take_word(fields, context) : take_tag(fields, context);
}

}  // namespace

bool is_mooncake_array(tape_value event) {
  constexpr std::array<std::string_view, 3> tags{"BlockStoreEvent", "BlockUpdateEvent", "RemoveAllEvent"};
  return std::ranges::find(tags, event.first().text()) != tags.end();
}

reject_reason read_mooncake_array(tape_value event, event_fields& fields) {
  fields.dialect = core::event_dialect::mooncake_array;
  fields.has_text_hashes = true;
  const std::string_view tag = event.first().text();
  if (tag == "RemoveAllEvent") {
    fields.kind = core::event_kind::cleared;
    return reject_reason::none;
  }
  const bool is_update = tag == "BlockUpdateEvent";
  fields.kind = core::event_kind::object;
  fields.change = is_update ? change::updated : change::stored;
  const std::size_t places = is_update ? update_places : object_places.size();
  const std::size_t present = std::min<std::size_t>(places, event.length() - 1);
  tape_value item = event.first();
  for (std::size_t i = 0; i < present; ++i) {
    item = item.next();
    fields.*object_places[i] = item;
  }
  // What is unset may be an empty text there, whatever its type (seed 004, "BlockStoreEvent").
  for (const place each : {&event_fields::block_size, &event_fields::tokens}) {
    if ((fields.*each).is(kind::string) && (fields.*each).length() == 0) fields.*each = {};
  }
  // An empty list says that the object is gone, whichever of the two events it is in; a missing one says nothing.
  if (!fields.replicas.is(kind::array)) return reject_reason::missing_field;
  if (fields.replicas.length() == 0) fields.change = change::updated;
  return reject_reason::none;
}

bool is_mooncake_map(const event_fields& fields, const decode_context& context) {
  const bool has_both_types = fields.event_type.has_value() && fields.type.has_value();
  return context.type == core::publisher_type::mooncake || fields.object_key.has_value() || fields.single_hash.has_value() ||
         (has_both_types && context.type != core::publisher_type::standard);
}

reject_reason read_mooncake_map(event_fields& fields, decode_context& context) {
  fields.dialect = core::event_dialect::mooncake_map;
  fields.has_text_hashes = true;
  const reject_reason why = take_kind(fields, context);
  if (why != reject_reason::none || *fields.kind == core::event_kind::cleared) return why;
  if (fields.rolling_parent.has_value()) fields.parent = fields.rolling_parent;
  if (has_elements(fields.rolling_hashes)) fields.hashes = fields.rolling_hashes;
  const bool has_connector_hash = fields.single_hash.is(kind::string) && fields.single_hash.length() != 0;
  // The whole digest tells more than the one number made of it.
  if (has_connector_hash && (!has_elements(fields.hashes) || fields.hashes.length() == 1)) {
    fields.hashes = {};
  } else {
    fields.single_hash = {};
  }
  const bool is_removal = *fields.kind == core::event_kind::removed;
  // The master of the first generation with envelopes knows neither model nor block size, and labels the one removal it sends with a medium
  // of no meaning (kv-events.md section 6.2).
  fields.is_on_all_media = is_removal && !fields.model.has_value() && !fields.block_size.has_value();
  if (has_elements(fields.hashes) || has_connector_hash) return reject_reason::none;
  if (!fields.object_key.has_value()) return reject_reason::missing_field;
  fields.kind = core::event_kind::object;
  fields.change = is_removal ? change::removed : change::stored;
  return reject_reason::none;
}

}  // namespace kvc::net
