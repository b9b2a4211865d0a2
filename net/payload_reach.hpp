// Bringing a payload near before it is read.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/bring_near.hpp"

namespace kvc::net {

/// Asks for a payload's first bytes, all of most: what a thread of the transport has written lies far from the lane, and by itself the CPU
/// asks ahead only to the end of a page.
inline void bring_payload_near(std::span<const std::byte> payload) noexcept {
  constexpr std::size_t cache_line = 64;
  constexpr std::size_t most = 2'048;  // more than most batches; whoever reads a long one asks for the rest on the way
  const std::size_t asked_for = std::min(payload.size(), most);
  for (std::size_t at = 0; at < asked_for; at += cache_line) core::bring_within_reach(&payload[at]);
}

/// For whoever reads a payload front to back and is at `at`: asks for a line that comes soon. To be called once per line of 64 bytes or
/// some times; what it asks for may lie behind the payload's end, which costs time only. Any lane.
///
/// Why on the way: a CPU has room for some sixteen lines that it waits for, and whoever asks for more at once waits as well. With this, and
/// 2 KiB asked for beforehand in place of 16, prompts of 70 KB took a lane 0.91 of its CPU (`perf/results/ingest.md`).
[[gnu::always_inline]] inline void bring_on_way(const unsigned char* at) noexcept {
  constexpr std::uintptr_t ahead = 1'024;  // 2,048 are no better
  core::bring_near(reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(at) + ahead));
}

}  // namespace kvc::net
