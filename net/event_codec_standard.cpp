#include "net/event_codec_standard.hpp"

#include <string_view>

namespace kvc::net {
namespace {

using kind = tape_value::kind;

event_kind kind_of(std::string_view word) {
  if (word == "stored") return event_kind::stored;
  if (word == "removed") return event_kind::removed;
  if (word == "cleared") return event_kind::cleared;
  return event_kind::unknown;
}

/// Fields that have a name in the standard and another among engines.
struct rivals {
  tape_value event_type;
  tape_value type;
  tape_value seq_hashes;
  tape_value block_hashes;
  tape_value parent_hash;
  tape_value parent_block_hash;
};

void take_member(std::string_view name, tape_value value, event_fields& fields, rivals& names) {
  if (name == "event_type") {
    names.event_type = value;
  } else if (name == "type") {
    names.type = value;
  } else if (name == "seq_hashes") {
    names.seq_hashes = value;
  } else if (name == "block_hashes") {
    names.block_hashes = value;
  } else if (name == "parent_hash") {
    names.parent_hash = value;
  } else if (name == "parent_block_hash") {
    names.parent_block_hash = value;
  } else if (name == "group_id" || name == "group_idx") {
    fields.group = value;
  } else if (name == "object_key") {
    fields.object_key = value;
  } else {
    static_cast<void>(take_common_field(name, value, fields));  // unknown members are none of our business
  }
}

bool is_empty_list(tape_value value) {
  return value.is(kind::array) && value.length() == 0;
}

}  // namespace

bool is_standard_map(tape_value event) {
  tape_value key = event.first();
  for (std::uint32_t i = 0; i < event.length(); ++i) {
    const tape_value value = key.next();
    if (key.is(kind::string) && key.text() == "event_type") return true;
    if (key.is(kind::string) && key.text() == "type" && value.is(kind::string) && kind_of(value.text()) != event_kind::unknown) return true;
    key = value.next();
  }
  return false;
}

reject_reason read_standard_map(tape_value event, event_fields& fields) {
  rivals names;
  tape_value key = event.first();
  for (std::uint32_t i = 0; i < event.length(); ++i) {
    const tape_value value = key.next();
    if (key.is(kind::string)) take_member(key.text(), value, fields, names);
    key = value.next();
  }
  const tape_value word = names.event_type.has_value() ? names.event_type : names.type;
  if (!word.is(kind::string)) return reject_reason::not_an_event;
  fields.is_envelope = true;
  fields.kind = kind_of(word.text());
  fields.hashes = names.seq_hashes.has_value() ? names.seq_hashes : names.block_hashes;
  fields.parent = names.parent_hash.has_value() ? names.parent_hash : names.parent_block_hash;
  const bool names_blocks = fields.kind == event_kind::stored || fields.kind == event_kind::removed;
  return names_blocks && is_empty_list(fields.hashes) ? reject_reason::missing_field : reject_reason::none;
}

}  // namespace kvc::net
