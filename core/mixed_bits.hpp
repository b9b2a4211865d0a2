// One number for another, each bit of which depends on all bits of the first.
#pragma once

#include <cstdint>

namespace kvc::core {

/// 2^64 divided by the golden ratio, made odd: a product with it spreads numbers that lie close together.
inline constexpr std::uint64_t golden = 0x9E37'79B9'7F4A'7C15U;

/// The finaliser of SplitMix64, which can be undone: different numbers stay different. No secret is in it; see spread.hpp for tables that
/// outsiders fill. (Source: Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014.) Pure; any lane.
[[nodiscard]] constexpr std::uint64_t mixed_bits(std::uint64_t of) noexcept {
  of = (of ^ of >> 30) * 0xBF58'476D'1CE4'E5B9U;
  of = (of ^ of >> 27) * 0x94D0'49BB'1331'11EBU;
  return of ^ of >> 31;
}

}  // namespace kvc::core
