// vLLM's event forms, which SGLang and TensorRT-LLM share: positional arrays of every length, and maps tagged with `type`. (Source:
// kv-events.md sections 2 to 4.)
#pragma once

#include "net/event_fields.hpp"

namespace kvc::net {

/// Reads `[tag, ...]`; fields that a version does not have yet are absent, those it has beyond ours are ignored.
/// Precondition: `event` is an array. Reasons: `not_an_event` when it does not begin with a text.
[[nodiscard]] reject_reason read_vllm_array(tape_value event, event_fields& fields);

/// Reads `{type: tag, ...}`, keys in any order, unknown ones ignored. Precondition: `event` is a map.
[[nodiscard]] reject_reason read_vllm_map(tape_value event, event_fields& fields);

}  // namespace kvc::net
