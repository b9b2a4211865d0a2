// The fields of an event before they mean anything, and how they become a domain event. Shared by the dialects, which only know where
// each field stands.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/event.hpp"
#include "net/event_codec.hpp"
#include "net/tape_value.hpp"

namespace kvc::net {

/// What an event says it is.
enum class event_kind : std::uint8_t { unknown, stored, removed, cleared };

/// Where the fields of one event lie on the tape; absent ones are default values. Valid as long as the tape.
struct event_fields {
  event_kind kind = event_kind::unknown;
  bool is_envelope = false;  ///< the standard envelope, whose hashes may be the standard's
  tape_value hashes;
  tape_value parent;
  tape_value base;
  tape_value tokens;
  tape_value block_size;
  tape_value medium;
  tape_value lora;
  tape_value extra_keys;
  tape_value group;
  tape_value spec_kind;  ///< kind of the KV-cache group
  tape_value locality;
  tape_value tenant;
  tape_value model;
  tape_value salt;
  tape_value rank;
  tape_value object_key;  ///< of a store: its hashes are the store's names, whatever they look like
};

/// Takes a map member that means the same in every dialect. False: not one of those.
[[nodiscard]] bool take_common_field(std::string_view name, tape_value value, event_fields& fields);

/// Checks the fields and appends the event to `out`, unless a reason is returned; then `out` is as before.
[[nodiscard]] reject_reason append_event(const event_fields& fields, decode_context& context, std::vector<core::event>& out);

}  // namespace kvc::net
