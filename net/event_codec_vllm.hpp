// vLLM's event forms, which its relatives share: positional arrays of every length, and maps tagged with `type`. Events of LMCache and
// of other connectors ride in its streams and look the same. (Source: kv-events.md sections 2 and 5.)
#pragma once

#include "net/event_fields.hpp"

namespace kvc::net {

/// Reads `[tag, ...]`; fields that a version does not have yet are absent, those it has beyond ours are ignored.
/// Precondition: `event` is an array that begins with a text. Reason: `unknown_tag`, which is counted by name.
[[nodiscard]] reject_reason read_vllm_array(tape_value event, event_fields& fields, decode_context& context);

/// Reads `{type: tag, ...}`. Precondition: the members have been read. Reasons: those of `take_tag`.
[[nodiscard]] reject_reason read_vllm_map(event_fields& fields, decode_context& context);

/// Puts the values of an array where they belong by their positions, the tag excepted; they agree among vLLM and its relatives.
/// Preconditions: `event` is an array that is not empty; `fields.kind` is set.
void take_positions(tape_value event, event_fields& fields);

}  // namespace kvc::net
