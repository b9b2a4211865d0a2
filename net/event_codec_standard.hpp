// The standard envelope: a map that carries its own dimensions and rolling sequence hashes. (Source: seed 000, "KV Events API".)
#pragma once

#include "net/event_fields.hpp"

namespace kvc::net {

/// Whether this map is an envelope rather than a tagged engine event. Precondition: the members have been read.
[[nodiscard]] bool is_standard_map(const event_fields& fields);

/// Reads a map with `event_type` (`stored`, `removed`, `cleared`; as `type` too). Stores that add the engines' field names are understood;
/// `seq_hashes` and `parent_hash` win over `block_hashes` and `parent_block_hash`. Precondition: `is_standard_map`. Reasons: `not_an_event`
/// when the event type is no text, `missing_field` when blocks are stored or removed with an empty list of hashes.
[[nodiscard]] reject_reason read_standard_map(event_fields& fields, decode_context& context);

/// What the word of an envelope means; absent: nothing we know.
[[nodiscard]] std::optional<core::event_kind> kind_of_word(std::string_view word) noexcept;

/// Takes the word of an envelope into `fields.kind`. Reasons: `not_an_event` when it is no text, `unknown_tag`; that one is counted by
/// name.
[[nodiscard]] reject_reason take_word(event_fields& fields, decode_context& context);

}  // namespace kvc::net
