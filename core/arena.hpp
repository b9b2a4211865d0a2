// Where the memory of the index comes from: one arena for all partitions, on huge pages where the system has them, accounted by kind.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace kvc::core {

/// What memory of the arena is used for.
enum class arena_kind : std::uint8_t { runs, columns, cells, holes, directory, names, holdings, objects };
inline constexpr std::size_t arena_kinds = 8;
inline constexpr std::array<std::string_view, arena_kinds> arena_kind_names{"runs",      "columns", "cells",    "holes",
                                                                            "directory", "names",   "holdings", "objects"};

/// Bytes from the arena, not zeroed, aligned to 64 when `bytes` is a multiple of 64, else to 32. Throws std::bad_alloc. Any lane.
///
/// Story: what a lane frees it soon needs again, in the same size. So every thread keeps the pieces it freed last, by size, last in first
/// out, while they are still in its caches; a general allocator would first look at the neighbours of a piece, which costs more waiting for
/// memory than the index does for everything else. Full hands of pieces go from thread to thread through a list per size.
[[nodiscard]] void* arena_take(arena_kind kind, std::size_t bytes);

/// Gives back what `arena_take` gave, with the same kind and size. Null is ignored. Any lane.
void arena_give(arena_kind kind, void* memory, std::size_t bytes) noexcept;

/// The arena at one moment; approximate while lanes work.
struct arena_usage {
  std::array<std::size_t, arena_kinds> used{};  ///< bytes handed out, by kind
  std::size_t mapped = 0;                       ///< bytes taken from the system
  std::size_t reclaimed = 0;                    ///< bytes ever given back to it

  [[nodiscard]] std::size_t used_in_all() const noexcept;
  /// Share of the mapped bytes that nobody uses, 0 to 1.
  [[nodiscard]] double fragmentation() const noexcept;
};
[[nodiscard]] arena_usage arena_now() noexcept;

/// Gives back what is free in whole large pages, to the system or the page_reserve; answers how many bytes. Takes some 50 ns per free
/// piece, so it is to be called now and then, from a thread that has nothing else to do; lanes do not wait for it. Pieces at a thread's
/// hand stay.
std::size_t arena_trim();

}  // namespace kvc::core
