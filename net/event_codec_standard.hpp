// The standard envelope: a map that carries its own dimensions and rolling sequence hashes. (Source: seed 000, "KV Events API".)
#pragma once

#include "net/event_fields.hpp"

namespace kvc::net {

/// Reads a map with `event_type` (`stored`, `removed`, `cleared`; as `type` too), keys in any order, unknown ones ignored. Stores that add
/// the engines' field names are understood; `seq_hashes` and `parent_hash` win over `block_hashes` and `parent_block_hash`.
/// Precondition: `event` is a map. Reasons: `not_an_event` without an event type, `missing_field` when blocks are stored or removed without
/// any hash.
[[nodiscard]] reject_reason read_standard_map(tape_value event, event_fields& fields);

/// Whether this map is an envelope rather than a tagged engine event. Precondition: `event` is a map.
[[nodiscard]] bool is_standard_map(tape_value event);

}  // namespace kvc::net
