// How often a publisher has said that it holds a block under one name on one medium.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

namespace kvc::core {

/// A count and some more copies: at most what it can hold. Some publishers never tell of a removal, and a count that began again at 0 would
/// let one removal take away a block with billions of copies.
[[nodiscard]] constexpr std::uint32_t sum_of_copies(std::uint32_t count, std::uint32_t more) noexcept {
  return count + std::min(more, std::numeric_limits<std::uint32_t>::max() - count);
}

}  // namespace kvc::core
