// Bringing a payload near before it is read.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "core/bring_near.hpp"

namespace kvc::net {

/// Asks for a payload's bytes: what a thread of the transport has written lies far from the lane, and by itself the CPU asks ahead only to
/// the end of a page.
inline void bring_payload_near(std::span<const std::byte> payload) noexcept {
  constexpr std::size_t cache_line = 64;
  constexpr std::size_t most = 16'384;  // more than most batches, and little beside a second-level cache
  const std::size_t asked_for = std::min(payload.size(), most);
  for (std::size_t at = 0; at < asked_for; at += cache_line) core::bring_within_reach(&payload[at]);
}

}  // namespace kvc::net
