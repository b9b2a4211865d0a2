// TensorRT-LLM's events, its own and those of Dynamo's relay: tagged maps with vLLM's names, and multimodal items per block in a form of
// their own. (Source: kv-events.md section 4.)
#pragma once

#include <vector>

#include "net/event_fields.hpp"
#include "net/extra_keys.hpp"

namespace kvc::net {

/// Whether a tagged map is TensorRT-LLM's. Precondition: the members have been read.
[[nodiscard]] bool is_tensorrt_map(const event_fields& fields, const decode_context& context);

/// Reads `{type: tag, ...}`. Precondition: the members have been read. Reasons: those of `take_tag`.
[[nodiscard]] reject_reason read_tensorrt_map(event_fields& fields, decode_context& context);

/// One block's multimodal items, `{mm_objects: [{mm_hash, offsets: [[begin, end], ...]}, ...]}`, as the key list a vLLM engine would send:
/// a pair of hash and begin per range, or the hash alone where no range is given. Nil gives none. False when it is something else,
/// or makes more than `max_extra_keys`. `out` is scratch, as of `read_extra_keys`.
[[nodiscard]] bool read_mm_objects(tape_value block, std::vector<extra_key>& out);

}  // namespace kvc::net
