// The digest of many bytes, by the widest instructions that the CPU has.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace kvc::core {

/// XXH3-64, the same number on every machine. Where the library chooses among its ways at run time (x86-64), with AVX2 in
/// two fifths of the time that the one needs which every x86-64 has (5,000 bytes in cache; a sixth less when they come from memory). Up to
/// 240 bytes the inlined one (see block_hasher) is the quicker one. Pure; any lane.
[[nodiscard]] std::uint64_t long_digest(std::span<const std::byte> bytes, std::uint64_t seed = 0) noexcept;

}  // namespace kvc::core
