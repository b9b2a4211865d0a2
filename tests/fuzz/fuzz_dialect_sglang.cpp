// Batches and events of a publisher registered as SGLang.
#include <cstddef>
#include <cstdint>

#include "tests/support/fuzz_dialect.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using enum kvc::net::event_form;
  return kvc::fuzz::run_dialect(kvc::core::publisher_type::sglang, {sglang_2026_02, sglang_map}, {sglang_2025_05, sglang_2025_06}, data,
                                size);
}
