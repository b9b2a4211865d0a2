// Batches and events of a store registered as Mooncake: arrays, the master's maps and the branch's.
#include <cstddef>
#include <cstdint>

#include "tests/support/fuzz_dialect.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using enum kvc::net::event_form;
  return kvc::fuzz::run_dialect(kvc::core::publisher_type::mooncake, {mooncake_array}, {mooncake_master, mooncake_branch}, data, size);
}
