#include "net/event_codec_vllm.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string_view>

namespace kvc::net {
namespace {

using kind = tape_value::kind;

event_kind kind_of(std::string_view tag) {
  if (tag == "BlockStored") return event_kind::stored;
  if (tag == "BlockRemoved") return event_kind::removed;
  if (tag == "AllBlocksCleared") return event_kind::cleared;
  return event_kind::unknown;
}

using place = tape_value event_fields::*;

// What stands at index 1, 2, ... of an array. Null: something we do not use.
constexpr std::array<place, 10> stored_places{
    &event_fields::hashes,      // 1 block_hashes
    &event_fields::parent,      // 2 parent_block_hash
    &event_fields::tokens,      // 3 token_ids
    &event_fields::block_size,  // 4
    nullptr,                    // 5 lora_id, deprecated and outside every hash
    &event_fields::medium,      // 6
    &event_fields::lora,        // 7 lora_name; see take_seventh
    &event_fields::extra_keys,  // 8
    &event_fields::group,       // 9 group_idx
    &event_fields::spec_kind,   // 10 kv_cache_spec_kind
};
constexpr std::array<place, 3> removed_places{
    &event_fields::hashes,  // 1 block_hashes
    &event_fields::medium,  // 2
    &event_fields::group,   // 3 group_idx
};

std::span<const place> places_of(event_kind what) {
  if (what == event_kind::stored) return stored_places;
  if (what == event_kind::removed) return removed_places;
  return {};
}

/// Looks up one key of a map; absent when it is not there.
tape_value member(tape_value map, std::string_view name) {
  tape_value key = map.first();
  for (std::uint32_t i = 0; i < map.length(); ++i) {
    const tape_value value = key.next();
    if (key.is(kind::string) && key.text() == name) return value;
    key = value.next();
  }
  return {};
}

/// The same index holds vLLM's adapter name or SGLang's map with the salt; the type tells. Anything else is neither.
void take_seventh(event_fields& fields) {
  const tape_value seventh = fields.lora;
  if (seventh.is(kind::string)) return;
  fields.lora = {};
  if (seventh.is(kind::map)) fields.salt = member(seventh, "cache_salt");
}

void take_member(std::string_view name, tape_value value, event_fields& fields) {
  if (name == "block_hashes") {
    fields.hashes = value;
  } else if (name == "parent_block_hash") {
    fields.parent = value;
  } else if (name == "group_idx") {
    fields.group = value;
  } else if (name == "cache_salt") {
    fields.salt = value;
  } else {
    static_cast<void>(take_common_field(name, value, fields));  // unknown members are none of our business
  }
}

}  // namespace

reject_reason read_vllm_array(tape_value event, event_fields& fields) {
  if (event.length() == 0 || !event.first().is(kind::string)) return reject_reason::not_an_event;
  fields.kind = kind_of(event.first().text());
  const auto places = places_of(fields.kind);
  const std::size_t present = std::min<std::size_t>(places.size(), event.length() - 1);
  tape_value item = event.first();
  for (const place where : places.first(present)) {
    item = item.next();
    if (where != nullptr) fields.*where = item;
  }
  if (fields.kind == event_kind::stored) take_seventh(fields);
  return reject_reason::none;
}

reject_reason read_vllm_map(tape_value event, event_fields& fields) {
  tape_value key = event.first();
  bool has_tag = false;
  for (std::uint32_t i = 0; i < event.length(); ++i) {
    const tape_value value = key.next();
    if (key.is(kind::string) && key.text() == "type") {
      has_tag = value.is(kind::string);
      fields.kind = has_tag ? kind_of(value.text()) : event_kind::unknown;
    } else if (key.is(kind::string)) {
      take_member(key.text(), value, fields);
    }
    key = value.next();
  }
  return has_tag ? reject_reason::none : reject_reason::not_an_event;
}

}  // namespace kvc::net
