// How a byte budget is shared by those who want more than there is.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace kvc::core {

/// What each of `wanted` may have of `total`, max-min fair: whoever wants less than an equal part has all of it, and what he leaves is
/// shared equally by the others, in the same way. The shares add up to `total` where the wants do, less a rounding of a unit per entry;
/// each is at most what is wanted. Pure. (Source: water filling, e.g. Bertsekas and Gallager, Data Networks, section 6.5.2.)
[[nodiscard]] std::vector<std::uint64_t> fair_shares(std::span<const std::uint64_t> wanted, std::uint64_t total);

/// `part` out of a hundred of `whole`, rounded down, without overflow.
[[nodiscard]] constexpr std::uint64_t percent_of(std::uint64_t whole, std::uint64_t part) noexcept {
  return whole / 100 * part + whole % 100 * part / 100;
}

}  // namespace kvc::core
