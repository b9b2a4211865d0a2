// Where what a reader of a run will need stands, told in few bits by whoever leads to the run, so that all of it is asked for at once.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/bring_near.hpp"
#include "core/run.hpp"

namespace kvc::core {

/// Where the column of a run stands and how long it is: the distance in lines of 64 bytes, and in three bits how many steps of four lines
/// it is longer than the four that are asked for of any.
///
/// Only ever asked for, never looked at, so it may be out of date. Pure values; any lane.
class column_hint {
 public:
  constexpr column_hint() = default;
  constexpr explicit column_hint(std::uint32_t bits) : bits_(bits) {}
  /// Of the column that `whose` has now, which is looked at for its capacity; nothing where there is none, and where it is too far (16
  /// GiB). Inside a quiescent scope: a pin of the run does not keep its column.
  [[nodiscard]] static column_hint of(const run& whose) noexcept;

  [[nodiscard]] constexpr std::uint32_t bits() const noexcept { return bits_; }
  /// Brings near what a reader of `which` will look at: its own lines and, by this hint, its column's. Nothing need be there any more.
  void approach(const run* which) const noexcept {
    which->prefetch();
    const auto lines_behind = std::int64_t{static_cast<std::int32_t>(bits_)} >> length_bits;
    const std::uintptr_t column = reinterpret_cast<std::uintptr_t>(which) + static_cast<std::uintptr_t>(lines_behind * std::int64_t{unit});
    for (unsigned i = 0; i < first_lines; ++i) bring_near(reinterpret_cast<const void*>(column + i * unit));
    const unsigned all = first_lines + (bits_ & most_steps) * lines_per_step;
    for (unsigned i = first_lines; i < all; ++i) bring_within_reach(reinterpret_cast<const void*>(column + i * unit));
  }

 private:
  static constexpr std::size_t unit = 64;        ///< bytes; a line
  static constexpr unsigned first_lines = 4;     ///< of any column: its head and 31 hashes
  static constexpr unsigned lines_per_step = 4;  ///< behind the last the CPU goes on by itself
  static constexpr unsigned length_bits = 3;     ///< for the length in steps; the others are the distance
  static constexpr std::uint32_t most_steps = (1U << length_bits) - 1;

  std::uint32_t bits_ = 0;
};

/// Which child of a run came last while there were few (`run::heir`): where it stands, in lines of 64 bytes from its parent, and its
/// column.
///
/// What follows a part of a conversation is often one run, and a query that goes on waits for the finder's line first: whoever comes
/// through the parent asks for the child's lines at the same time. Only ever asked for, so the child may be gone. Pure values; any lane.
class heir_hint {
 public:
  /// Of a run with more children nobody asks for one, nor is the last written down: which one a query goes on to is not known, and each
  /// writing would take from all readers a line that they need.
  static constexpr std::uint32_t most_children = 4;

  constexpr heir_hint() = default;
  constexpr explicit heir_hint(std::uint64_t bits) : bits_(bits) {}
  /// Nothing where the child is too far (128 GiB). Inside a quiescent scope.
  [[nodiscard]] static heir_hint of(const run& parent, const run& child) noexcept;

  [[nodiscard]] constexpr std::uint64_t bits() const noexcept { return bits_; }
  [[nodiscard]] constexpr bool is_nothing() const noexcept { return bits_ == 0; }
  /// Whether it is of `child`, whatever column that had, which is not looked at.
  [[nodiscard]] bool is_of(const run& parent, const run& child) const noexcept;
  /// Brings near what a reader of the child will look at.
  void approach(const run& parent) const noexcept {
    const std::int64_t lines_behind = static_cast<std::int32_t>(bits_ >> distance_shift);
    const std::uintptr_t child = reinterpret_cast<std::uintptr_t>(&parent) + static_cast<std::uintptr_t>(lines_behind * std::int64_t{64});
    column_hint(static_cast<std::uint32_t>(bits_)).approach(reinterpret_cast<const run*>(child));
  }

 private:
  static constexpr unsigned distance_shift = 32;

  std::uint64_t bits_ = 0;
};

/// Brings near what a reader of the child that `parent` tells of will look at, if it tells of any.
inline void approach_heir(const run& parent) noexcept {
  // The count first: it stands on the line that every reader has, while the other one is written whenever a child comes.
  if (parent.children.load(std::memory_order_relaxed) > heir_hint::most_children) return;
  const heir_hint heir(parent.heir.load(std::memory_order_relaxed));
  if (!heir.is_nothing()) heir.approach(parent);
}

}  // namespace kvc::core
