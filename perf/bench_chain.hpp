// Chains of blocks for benchmarks that need no file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/ids.hpp"

namespace kvc::perf {

/// Random blocks, each behind the one before; the names are as random as their contents. By position.
struct bench_chain {
  std::vector<core::engine_hash> names;
  std::vector<core::local_hash> locals;
};

/// The same chain for the same seed.
[[nodiscard]] bench_chain make_chain(std::size_t length, std::uint64_t seed);

}  // namespace kvc::perf
