// How far two lists of 64-bit hashes agree, as fast as the CPU at hand can tell.
#pragma once

#include <cstddef>
#include <cstdint>

namespace kvc::core {

/// The number of leading elements in which `left` and `right` agree, at most `count`. Both have at least `count` readable elements.
/// Uses AVX-512 where it pays (vector_width.hpp), AVX2 or NEON where the CPU has them (asked once, at run time). Pure; any lane.
[[nodiscard]] std::size_t common_prefix(const std::uint64_t* left, const std::uint64_t* right, std::size_t count) noexcept;

/// The same by plain code on every CPU: what the fast ones are tested against.
[[nodiscard]] std::size_t common_prefix_scalar(const std::uint64_t* left, const std::uint64_t* right, std::size_t count) noexcept;

}  // namespace kvc::core
