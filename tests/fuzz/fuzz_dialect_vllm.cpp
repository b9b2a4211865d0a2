// Batches and events of a publisher registered as vLLM, eight generations of arrays and maps.
#include <cstddef>
#include <cstdint>

#include "tests/support/fuzz_dialect.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using enum kvc::net::event_form;
  return kvc::fuzz::run_dialect(kvc::core::publisher_type::vllm, {vllm_array, vllm_map, vllm_map_batch},
                                {vllm_2025_04, vllm_2025_06, vllm_2025_09, vllm_2025_12, vllm_2026_02, vllm_2026_04}, data, size);
}
