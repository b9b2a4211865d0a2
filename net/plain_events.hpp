// Batches of events as plain as engines write them nearly always, read in one pass over their bytes.
#pragma once

#include <cstddef>
#include <span>

#include "core/event.hpp"
#include "net/event_codec.hpp"

namespace kvc::net {

/// Reads a batch of stored and removed blocks in vLLM's arrays or maps, and what SGLang and TensorRT-LLM make of them: names that are
/// integers, tokens in their shortest form, media of known words, nobody's extra keys, nothing unknown and nothing to refuse. What it fills
/// in is what the tape and the readers of the dialects would, counts and joined removals included; it takes a fourth of their time, since
/// every value is looked at once and a removal that repeats the one before it but for its name is compared and not read.
///
/// False: something about it is not that plain, or it is no batch at all. The general way knows; `out` holds a part of the batch and is to
/// be emptied. Nothing else has changed then that anybody could notice. `with.counts` is that of `out`. Precondition: `out` is empty.
[[nodiscard]] bool read_plain_batch(std::span<const std::byte> payload, decode_context& with, core::event_batch& out);

}  // namespace kvc::net
