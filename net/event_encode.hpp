// The writing side of the event forms: batches as publishers send them, for simulated engines and tests. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "core/event.hpp"
#include "core/medium.hpp"

namespace kvc::net {

/// Which form to write. The vLLM forms are those of 2026; see kv-events.md section 2.
enum class event_form : std::uint8_t { vllm_array, vllm_map, standard };

struct encode_options {
  event_form form = event_form::vllm_map;
  bool binary_hashes = false;         ///< names as 32-byte digests that end with the 8 bytes of the integer, as vLLM can send them
  std::string backend_id = "engine";  ///< standard form only
  std::uint64_t first_event_id = 0;   ///< standard form only; the others follow
};

/// Writes `batch` to `out`, replacing what it held. Media are written under their names in `media`; a group that is not prefix-complete is
/// called `sliding_window`. What a form has no field for is not written: the vLLM forms carry no model, tenant or position, the standard
/// form no extra keys and no group. `out` keeps its memory, so one string may serve many batches.
void encode_batch(const core::event_batch& batch, const core::medium_table& media, const encode_options& options, std::string& out);

}  // namespace kvc::net
