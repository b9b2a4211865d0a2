// What blocks are called: integers of either sign, digests, and text, all to 64-bit names.
#pragma once

#include <string_view>
#include <vector>

#include "core/digest_names.hpp"
#include "core/ids.hpp"
#include "net/tape_value.hpp"

namespace kvc::net {

/// One block's name: an integer (a negative one is the same bits), a digest, or where `accepts_text` a text; see `name_of_text`.
/// False when it is none of these, or empty.
[[nodiscard]] bool read_name(tape_value from, bool accepts_text, core::digest_names& digests, core::engine_hash& out);

/// The name a text stands for: a decimal number of up to 64 bits with an optional minus, hexadecimal digits with or without `0x` (more than
/// 16 of them are a digest), and anything else as an opaque key (kv-events.md section 10, case 4). Precondition: not empty.
[[nodiscard]] core::engine_hash name_of_text(std::string_view text, core::digest_names& digests);

/// Whether a name stands in the list twice. `scratch` keeps its memory.
[[nodiscard]] bool has_repeats(const std::vector<core::engine_hash>& names, std::vector<core::engine_hash>& scratch);

}  // namespace kvc::net
