// The writing side of the event forms: batches as publishers of every dialect and generation send them, for simulated engines and tests.
// Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/event.hpp"
#include "core/medium.hpp"

namespace kvc::net {

/// Which form to write. (Source: kv-events.md sections 2 to 6; seed 004 for `mooncake_array`.)
enum class event_form : std::uint8_t {
  vllm_array,          ///< positional, 2026-05: the last generation of arrays
  vllm_map,            ///< tagged maps, 2026-06 on
  vllm_map_batch,      ///< the same with the batch as a map
  vllm_2025_04,        ///< batch of 2, no medium
  vllm_2025_06,        ///< batch of 3
  vllm_2025_09,        ///< with medium
  vllm_2025_12,        ///< with adapter
  vllm_2026_02,        ///< with key lists
  vllm_2026_04,        ///< with group
  sglang_2025_05,      ///< batch of 2, no medium
  sglang_2025_06,      ///< batch of 3
  sglang_2026_02,      ///< with medium, and in 8 elements with the salt where an event has one
  sglang_map,          ///< tagged maps, 2026-09 on
  tensorrt_llm,        ///< its own publisher
  tensorrt_llm_relay,  ///< through Dynamo: neither medium nor adapter
  standard,            ///< the envelope
  mooncake_array,      ///< objects and their replicas, by position
  mooncake_master,     ///< envelopes that know objects only
  mooncake_branch,     ///< envelopes with model, block size and the connector's hash
};
inline constexpr std::size_t event_form_count = 19;

struct encode_options {
  event_form form = event_form::vllm_map;
  bool binary_hashes = false;         ///< names as 32-byte digests that end with the 8 bytes of the integer, as vLLM can send them
  std::string backend_id = "engine";  ///< of envelopes whose event names none
  std::uint64_t first_event_id = 0;   ///< of envelopes; the others follow
};

/// Whether a form can say this at all: engines know no objects, the arrays of stores no blocks, the master no clears. What it has no field
/// for in an event that it can say is left out (a group, an adapter, key lists ...).
[[nodiscard]] bool can_say(event_form form, const core::event& what) noexcept;

/// Writes `batch` to `out`, replacing what it held; events that the form cannot say are left out. Media are written under their names in
/// `media`; a group that is not prefix-complete is called `sliding_window`; SGLang and TensorRT-LLM write names as signed numbers. `out`
/// keeps its memory, so one string may serve many batches.
void encode_batch(const core::event_batch& batch, const core::medium_table& media, const encode_options& options, std::string& out);

}  // namespace kvc::net
