// One run of the index: consecutive blocks of a chain in one column, and how far each holder holds them.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>

#include "core/ids.hpp"
#include "core/medium.hpp"

namespace kvc::core {

/// Longest run. A longer chain goes on in a child run, so that cutting, growing and naming a run are bounded pieces of work.
inline constexpr std::uint32_t max_run_blocks = 4'096;
/// Every so many blocks a column keeps the sequence hash, so that the hash of any block is at most this many rolls away.
inline constexpr std::uint32_t blocks_per_mark = 16;

/// The local hashes of a run, and marks: sequence hashes of blocks 15, 31, 47 ... Elements below `length` never change.
struct run_column {
  std::uint32_t capacity = 0;
  std::atomic<std::uint32_t> length{0};

  [[nodiscard]] std::uint64_t* locals() noexcept { return reinterpret_cast<std::uint64_t*>(this + 1); }
  [[nodiscard]] const std::uint64_t* locals() const noexcept { return reinterpret_cast<const std::uint64_t*>(this + 1); }
  [[nodiscard]] std::uint64_t* marks() noexcept { return locals() + capacity; }
  [[nodiscard]] const std::uint64_t* marks() const noexcept { return locals() + capacity; }
  [[nodiscard]] static std::size_t bytes_for(std::uint32_t capacity) noexcept {
    return sizeof(run_column) + (capacity + capacity / blocks_per_mark) * sizeof(std::uint64_t);
  }
};

/// How far one worker holds a run on one medium, in one word: worker, medium, cutoff (leading blocks held without a break), and whether it
/// holds blocks behind a hole as well (then a `held_bits` of the run tells which). 0 is an empty cell.
class cell_value {
 public:
  constexpr cell_value() = default;
  constexpr explicit cell_value(std::uint64_t bits) : bits_(bits) {}
  constexpr cell_value(worker_id worker, medium_id medium, std::uint32_t cutoff, bool has_more)
      : bits_(std::uint64_t{worker.get()} << 32 | std::uint64_t{static_cast<unsigned>(medium)} << 28 | std::uint64_t{has_more} << 27 | cutoff) {}

  [[nodiscard]] constexpr std::uint64_t bits() const noexcept { return bits_; }
  [[nodiscard]] constexpr bool is_empty() const noexcept { return bits_ == 0; }
  [[nodiscard]] constexpr std::uint32_t worker() const noexcept { return static_cast<std::uint32_t>(bits_ >> 32); }
  [[nodiscard]] constexpr medium_id medium() const noexcept { return static_cast<medium_id>(bits_ >> 28 & 0xF); }
  [[nodiscard]] constexpr bool has_more() const noexcept { return (bits_ >> 27 & 1) != 0; }
  [[nodiscard]] constexpr std::uint32_t cutoff() const noexcept { return static_cast<std::uint32_t>(bits_ & 0x7FF'FFFF); }

 private:
  std::uint64_t bits_ = 0;
};

using run_cell = std::atomic<std::uint64_t>;

/// More cells of a run; each chunk is twice as large as the one before, none ever moves or goes before its run.
struct cell_chunk {
  std::uint32_t count = 0;
  std::atomic<cell_chunk*> next{nullptr};
  [[nodiscard]] run_cell* cells() noexcept { return reinterpret_cast<run_cell*>(this + 1); }
  [[nodiscard]] const run_cell* cells() const noexcept { return reinterpret_cast<const run_cell*>(this + 1); }
};

/// Which blocks of a run one holder has, bit by bit, while there are holes. Written by the holder's lane only.
struct held_bits {
  worker_id worker{};
  medium_id medium{};
  std::uint32_t words = 0;
  std::atomic<held_bits*> next{nullptr};
  [[nodiscard]] std::atomic<std::uint64_t>* bits() noexcept { return reinterpret_cast<std::atomic<std::uint64_t>*>(this + 1); }
  [[nodiscard]] const std::atomic<std::uint64_t>* bits() const noexcept { return reinterpret_cast<const std::atomic<std::uint64_t>*>(this + 1); }
  [[nodiscard]] bool test(std::uint32_t offset) const noexcept {
    return offset / 64 < words && (bits()[offset / 64].load(std::memory_order_acquire) >> (offset % 64) & 1) != 0;
  }
};

/// Waits by spinning: held for some dozen instructions by a writer, never by a reader.
class spin_lock {
 public:
  void lock() noexcept;
  void unlock() noexcept { taken_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> taken_{false};
};

/// A run. Identity (parent, offset, first block) never changes; the column grows at its end only; nothing ever splits it.
///
/// Who writes what: `pins` by anyone; cells by the lane that owns the cell's worker; the column, the list of chunks and the list of
/// `held_bits` under `lock`; readers write nothing. A run with no pin left is dead: it is taken out of the directory and retired.
struct alignas(64) run {
  static constexpr std::size_t inline_cells = 2;

  std::atomic<run_column*> column{nullptr};
  run* parent = nullptr;                      ///< null: starts at position 0
  seq_hash first_hash{};                      ///< of block 0
  std::uint32_t parent_offset = 0;            ///< block of the parent behind which this run stands
  std::uint32_t base = 0;                     ///< position of block 0
  std::atomic<std::uint64_t> child_filter{0}; ///< one bit per child's edge, see `filter_bit`; clear: there is no such child
  std::atomic<cell_chunk*> more{nullptr};
  std::array<run_cell, inline_cells> cells{};
  // Second line: for writers, and for readers only when there are holes.
  std::atomic<held_bits*> holes{nullptr};
  std::atomic<std::uint32_t> pins{1};         ///< holdings, children, and whoever works with the run just now
  spin_lock lock;
  bool has_tail_children = false;             ///< a child may stand behind the last block; under lock
  std::uint32_t free_cells = inline_cells;    ///< under lock
  seq_hash last_hash{};                       ///< of the last block; under lock

  /// The column and how much of it may be read.
  [[nodiscard]] std::span<const std::uint64_t> blocks() const noexcept {
    const run_column* now = column.load(std::memory_order_acquire);
    return {now->locals(), now->length.load(std::memory_order_acquire)};
  }
  /// Copies the local hashes of `count` blocks from `start` on, all of them readable.
  void copy_locals(std::uint32_t start, std::uint32_t count, local_hash* out) const noexcept {
    std::ranges::transform(blocks().subspan(start, count), out, [](std::uint64_t bare) { return local_hash{bare}; });
  }
  [[nodiscard]] static std::uint64_t filter_bit(std::uint32_t offset, std::uint64_t local) noexcept {
    return std::uint64_t{1} << ((local ^ offset * std::uint64_t{0xD6E8'FEB8'6659'FD93}) * 0x9E37'79B9'7F4A'7C15U >> 58);
  }
  /// One pin more, unless the run is dead.
  [[nodiscard]] bool try_pin() noexcept;

  /// Calls `visit(cell_value)` for every cell in use.
  template <class Visit>
  void each_cell(Visit visit) const {
    for (const run_cell& each : cells) {
      const cell_value value(each.load(std::memory_order_acquire));
      if (!value.is_empty()) visit(value);
    }
    for (const cell_chunk* chunk = more.load(std::memory_order_acquire); chunk != nullptr; chunk = chunk->next.load(std::memory_order_acquire)) {
      for (std::uint32_t i = 0; i < chunk->count; ++i) {
        const cell_value value(chunk->cells()[i].load(std::memory_order_acquire));
        if (!value.is_empty()) visit(value);
      }
    }
  }
};

/// The sequence hash of block `offset` of a run. The block must be readable. Any lane, inside a quiescent scope.
[[nodiscard]] seq_hash seq_hash_at(const run& in, std::uint32_t offset, std::uint64_t seed);

}  // namespace kvc::core
