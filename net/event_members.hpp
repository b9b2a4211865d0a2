// The members of an event's map, by name and in any order: every name any publisher is known to send.
#pragma once

#include "net/event_fields.hpp"

namespace kvc::net {

/// Takes the members of a map into `fields`. Of a name that comes twice the last one counts; keys that are no text are passed over; names
/// that nobody is known to send are counted in `context.counts`. Precondition: `event` is a map.
void read_members(tape_value event, event_fields& fields, decode_context& context);

/// Looks up one key of a map; absent when it is not there. Precondition: `map` is one.
[[nodiscard]] tape_value member_of(tape_value map, std::string_view name);

}  // namespace kvc::net
