// What SGLang does differently from vLLM: a map with the salt where vLLM has its adapter, and the salt as a member of its maps.
// (Source: kv-events.md section 3.) Its signed hashes and pairs of tokens are understood in every form.
#pragma once

#include "net/event_fields.hpp"

namespace kvc::net {

/// Whether this is a store with a map at index 7. Precondition: `event` is an array that begins with a text.
[[nodiscard]] bool has_sglang_salt(tape_value event);

/// Reads a salted store. Precondition: `has_sglang_salt`.
[[nodiscard]] reject_reason read_sglang_array(tape_value event, event_fields& fields);

/// Whether a tagged map is SGLang's. Precondition: the members have been read.
[[nodiscard]] bool is_sglang_map(const event_fields& fields, const decode_context& context);

/// Reads `{type: tag, ...}`. Precondition: the members have been read. Reasons: those of `take_tag`.
[[nodiscard]] reject_reason read_sglang_map(event_fields& fields, decode_context& context);

}  // namespace kvc::net
