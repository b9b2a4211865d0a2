// How many events in a row are the same as another one but for the name in each.
#pragma once

#include <cstddef>
#include <span>

namespace kvc::net {

/// An event of which a stretch, the name, may be another. Reads the event's bytes, which outlive it.
///
/// Why: an engine that evicts says so with an event per block, often hundreds in a row that differ in eight bytes. Compared in two parts,
/// before the name and behind it, each took a lane 109 instructions in all; 80 where all of it but the name is compared at once, sixteen
/// bytes at a time. With 64 at a time two comparisons are enough.
struct event_pattern {
  static constexpr std::size_t fewest_bytes = 16;
  static constexpr std::size_t most_bytes = 128;
  static constexpr std::size_t gap_bytes = 8;  ///< a name of full width, behind its format

  const unsigned char* event = nullptr;
  std::size_t length = 0;  ///< bytes, within the bounds above
  std::size_t gap = 0;     ///< where the name's bytes begin in the event; all of them are within it
};

/// How many of the `most` events that stand one behind the other at `at`, each as long as the pattern's, are like it before the first that
/// is not. Looks at no byte behind the last of them. Uses AVX-512 where the CPU has it (asked once, at run time). Pure; any lane.
[[nodiscard]] std::size_t count_alike(const event_pattern& like, const unsigned char* at, std::size_t most) noexcept;

using alike_counter = std::size_t (*)(const event_pattern&, const unsigned char*, std::size_t) noexcept;

/// All that this CPU can run, the one that `count_alike` uses first, the plain one last. Any lane.
[[nodiscard]] std::span<const alike_counter> alike_counters() noexcept;

}  // namespace kvc::net
