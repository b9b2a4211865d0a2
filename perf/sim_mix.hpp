// Repeatable randomness: a bit mixer and a small generator whose numbers are the same on every machine and library.
#pragma once

#include <cstdint>

namespace kvc::sim {

/// Scrambles 64 bits so that equal inputs give equal outputs and neighbours look unrelated. A bijection. Pure.
/// Constants: the finaliser of SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", 2014).
[[nodiscard]] constexpr std::uint64_t mix(std::uint64_t bits) noexcept {
  bits += 0x9E3779B97F4A7C15U;
  bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9U;
  bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EBU;
  return bits ^ (bits >> 31);
}

/// Scales 64 random bits to 0 .. below-1 without the slow remainder. Precondition: below is at least 1. Pure.
[[nodiscard]] constexpr std::uint32_t scale(std::uint64_t bits, std::uint32_t below) noexcept {
  return static_cast<std::uint32_t>(((bits >> 32) * below) >> 32);
}

/// A stream of random numbers fixed by its seed. The standard library's distributions differ between implementations; these do not.
class dice {
 public:
  explicit constexpr dice(std::uint64_t seed) noexcept : state_(mix(seed)) {}

  [[nodiscard]] constexpr std::uint64_t next() noexcept { return mix(state_++); }
  /// 0 .. bound-1; bound is at least 1.
  [[nodiscard]] constexpr std::uint32_t below(std::uint32_t bound) noexcept { return scale(next(), bound); }
  /// low .. high, both included; low <= high < 2^32-1.
  [[nodiscard]] constexpr std::uint32_t between(std::uint32_t low, std::uint32_t high) noexcept { return low + below(high - low + 1); }
  /// At least 0, below 1.
  [[nodiscard]] constexpr double unit() noexcept { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

 private:
  std::uint64_t state_;
};

}  // namespace kvc::sim
