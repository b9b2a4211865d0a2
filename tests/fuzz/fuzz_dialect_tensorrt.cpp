// Batches and events of a publisher registered as TensorRT-LLM, native and relayed.
#include <cstddef>
#include <cstdint>

#include "tests/support/fuzz_dialect.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using enum kvc::net::event_form;
  return kvc::fuzz::run_dialect(kvc::core::publisher_type::tensorrt_llm, {tensorrt_llm, tensorrt_llm_relay}, {}, data, size);
}
