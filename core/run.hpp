// One run of the index: consecutive blocks of a chain in one column, and how far each holder holds them.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>

#include "core/bring_near.hpp"
#include "core/column_digest.hpp"
#include "core/ids.hpp"
#include "core/mixed_bits.hpp"
#include "core/slot_table.hpp"

namespace kvc::core {

/// Longest run. A longer chain goes on in a child run, so that cutting, growing and naming a run are bounded pieces of work.
inline constexpr std::uint32_t max_run_blocks = 4'096;

/// Room to leave behind the blocks that a run, or the list of their names, begins with: a prompt comes at once, and what its answer adds
/// comes block by block. Long ones begin without: they may be documents that nobody goes on with, and 32 places more of 1,024 would be half
/// a byte for each block.
[[nodiscard]] constexpr std::uint32_t room_behind(std::uint32_t blocks) noexcept {
  constexpr std::uint32_t most = 32;
  constexpr std::uint32_t long_run = 512;
  return blocks >= long_run ? 0 : std::min(blocks / 8, most);
}

/// Every so many blocks a column keeps the sequence hash, a mark, so that the hash of any block is at most this many rolls away.
inline constexpr std::uint32_t blocks_per_mark = 16;
/// The same of the first `early_blocks` of a run, behind which most branches stand: prompts that begin alike part early.
inline constexpr std::uint32_t blocks_per_early_mark = 8;
inline constexpr std::uint32_t early_blocks = 128;
static_assert(blocks_per_mark % blocks_per_early_mark == 0 && early_blocks % blocks_per_mark == 0);

/// How many marks the first `length` blocks of a run have.
[[nodiscard]] constexpr std::uint32_t marks_of(std::uint32_t length) noexcept {
  if (length <= early_blocks) return length / blocks_per_early_mark;
  return early_blocks / blocks_per_early_mark + (length - early_blocks) / blocks_per_mark;
}
/// How many blocks of a run its first `marks` marks stand for.
[[nodiscard]] constexpr std::uint32_t blocks_of_marks(std::uint32_t marks) noexcept {
  constexpr std::uint32_t early = early_blocks / blocks_per_early_mark;
  return marks <= early ? marks * blocks_per_early_mark : early_blocks + (marks - early) * blocks_per_mark;
}

/// The local hashes of a run; marks: sequence hashes of blocks 7, 15, 23 ... 127, 143, 159 ...; and, where they pay, digests of blocks 0 to
/// 255, 256 to 511 ... Elements below `length` never change. Marks follow from the local hashes and are written when somebody first asks
/// for a hash behind them (see `seq_hash_in`): most blocks are stored, matched and removed without anybody doing so, and rolling is a chain
/// of multiplications that nothing else can hide.
struct run_column {
  std::uint16_t capacity = 0;
  mutable std::atomic<std::uint16_t> marked{0};  ///< marks that may be read
  std::atomic<std::uint32_t> length{0};

  [[nodiscard]] std::uint64_t* locals() noexcept { return reinterpret_cast<std::uint64_t*>(this + 1); }
  [[nodiscard]] const std::uint64_t* locals() const noexcept { return reinterpret_cast<const std::uint64_t*>(this + 1); }
  [[nodiscard]] std::uint64_t* marks() noexcept { return locals() + capacity; }
  [[nodiscard]] const std::uint64_t* marks() const noexcept { return locals() + capacity; }
  /// Precondition: `which` is below `marked`, as read by an acquiring load.
  [[nodiscard]] std::uint64_t mark(std::uint32_t which) const noexcept {
    return std::atomic_ref(*mark_at(which)).load(std::memory_order_relaxed);
  }
  /// Enters the next mark, number `which`, which any number of threads may find out at once. Its value is the same for all of them.
  void note_mark(std::uint32_t which, std::uint64_t value) const noexcept;
  [[nodiscard]] std::uint64_t* digests() noexcept { return marks() + marks_of(capacity); }
  [[nodiscard]] const std::uint64_t* digests() const noexcept { return marks() + marks_of(capacity); }
  [[nodiscard]] std::uint64_t* mark_at(std::uint32_t which) const noexcept { return const_cast<std::uint64_t*>(marks()) + which; }
  [[nodiscard]] static constexpr std::size_t bytes_for(std::uint32_t capacity) noexcept {
    return sizeof(run_column) + (capacity + marks_of(capacity) + capacity / blocks_per_digest) * sizeof(std::uint64_t);
  }
};

/// How far one slot holds a run: cutoff (leading blocks held without a break), and whether it holds blocks behind a hole as well (then a
/// `held_bits` of the run tells which). 0: nothing is held.
class cell_word {
 public:
  constexpr cell_word() = default;
  constexpr explicit cell_word(std::uint16_t bits) : bits_(bits) {}
  constexpr cell_word(std::uint32_t cutoff, bool has_more) : bits_(static_cast<std::uint16_t>(cutoff | (has_more ? more_bit : 0U))) {}

  static constexpr unsigned width = 14;  ///< bits in use
  static constexpr std::uint16_t cutoff_mask = 0x1FFF;

  [[nodiscard]] constexpr std::uint16_t bits() const noexcept { return bits_; }
  [[nodiscard]] constexpr bool is_empty() const noexcept { return bits_ == 0; }
  [[nodiscard]] constexpr std::uint32_t cutoff() const noexcept { return bits_ & cutoff_mask; }
  [[nodiscard]] constexpr bool has_more() const noexcept { return (bits_ & more_bit) != 0; }

 private:
  static constexpr std::uint32_t more_bit = 0x2000;
  std::uint16_t bits_ = 0;
};
static_assert(max_run_blocks <= cell_word::cutoff_mask);

/// A cell that says itself whose it is: slot << 14 | word.
using sparse_cell = std::atomic<std::uint32_t>;
/// A cell whose slot is its place in an array.
using dense_cell = std::atomic<std::uint16_t>;
static_assert(max_slots <= 1U << (32 - cell_word::width));

/// Where one slot's word of one run is written; by the lane of the slot's worker only.
class cell_ref {
 public:
  constexpr cell_ref() = default;
  explicit cell_ref(sparse_cell* at) : at_(reinterpret_cast<std::uintptr_t>(at)) {}
  explicit cell_ref(dense_cell* at) : at_(reinterpret_cast<std::uintptr_t>(at) | 1U) {}

  [[nodiscard]] explicit operator bool() const noexcept { return at_ != 0; }
  [[nodiscard]] bool is_dense() const noexcept { return (at_ & 1U) != 0; }
  [[nodiscard]] sparse_cell& sparse() const noexcept { return *reinterpret_cast<sparse_cell*>(at_); }
  [[nodiscard]] dense_cell& dense() const noexcept { return *reinterpret_cast<dense_cell*>(at_ & ~std::uintptr_t{1}); }
  void write(std::uint32_t slot, cell_word word) const noexcept {
    if (is_dense()) {
      dense().store(word.bits(), std::memory_order_release);
    } else {
      sparse().store(slot << cell_word::width | word.bits(), std::memory_order_release);
    }
  }

 private:
  std::uintptr_t at_ = 0;  ///< dense cells stand at even addresses
};

/// More cells of a run: sparse ones, or dense ones for slots from `first_slot` on. None ever moves or goes before its run.
struct cell_chunk {
  std::uint32_t count = 0;       ///< dense: a multiple of 64
  std::uint32_t first_slot = 0;  ///< dense: a multiple of 64
  bool is_dense = false;
  std::atomic<cell_chunk*> next{nullptr};

  [[nodiscard]] sparse_cell* sparse() noexcept { return reinterpret_cast<sparse_cell*>(this + 1); }
  [[nodiscard]] const sparse_cell* sparse() const noexcept { return reinterpret_cast<const sparse_cell*>(this + 1); }
  [[nodiscard]] dense_cell* dense() noexcept { return reinterpret_cast<dense_cell*>(this + 1); }
  [[nodiscard]] const dense_cell* dense() const noexcept { return reinterpret_cast<const dense_cell*>(this + 1); }
  [[nodiscard]] static std::size_t bytes_for(std::uint32_t count, bool is_dense) noexcept {
    return sizeof(cell_chunk) + count * (is_dense ? sizeof(dense_cell) : sizeof(sparse_cell));
  }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_for(count, is_dense); }
};

/// Which blocks of a run one slot holds, bit by bit, while there are holes. Written by the lane of the slot's worker only.
struct held_bits {
  std::uint32_t slot = 0;
  std::uint32_t words = 0;
  std::atomic<held_bits*> next{nullptr};
  [[nodiscard]] std::atomic<std::uint64_t>* bits() noexcept { return reinterpret_cast<std::atomic<std::uint64_t>*>(this + 1); }
  [[nodiscard]] const std::atomic<std::uint64_t>* bits() const noexcept {
    return reinterpret_cast<const std::atomic<std::uint64_t>*>(this + 1);
  }
  [[nodiscard]] std::size_t bytes() const noexcept { return sizeof(held_bits) + words * sizeof(std::uint64_t); }
  [[nodiscard]] bool test(std::uint32_t offset) const noexcept {
    return offset / 64 < words && (bits()[offset / 64].load(std::memory_order_acquire) >> (offset % 64) & 1) != 0;
  }
};

/// Waits by spinning: held for some dozen instructions by a writer, never by a reader.
class spin_lock {
 public:
  void lock() noexcept;
  [[nodiscard]] bool try_lock() noexcept { return !taken_.exchange(true, std::memory_order_acquire); }
  void unlock() noexcept { taken_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> taken_{false};
};

/// A run. Identity (parent, offset, first block) never changes; the column grows at its end only; nothing ever splits it.
///
/// Who writes what: `pins` and `heir` by any writer; cells by the lane that owns the worker of their slot; the column, the list of chunks
/// and the list of `held_bits` under `lock`; readers write nothing but marks, each once and whoever needs it first, and `recency`, once per
/// round, and only where there is a byte budget. A run with no pin left is dead: it is taken out of the directory and retired.
///
/// Layout: the first line is what every reader needs, the second the first cells and what writers need; behind them, in the same piece of
/// memory, stands the first column, so that a reader who has just learned the address of a run can fetch all of it at once.
struct alignas(64) run {
  static constexpr std::size_t inline_cells = 7;

  std::atomic<run_column*> column{nullptr};
  run* parent = nullptr;                       ///< null: starts at position 0
  seq_hash first_hash{};                       ///< of block 0
  std::uint32_t base = 0;                      ///< position of block 0
  std::uint16_t parent_offset = 0;             ///< block of the parent behind which this run stands
  std::atomic<std::uint16_t> child_end{0};     ///< no child stands behind a block at or after this one
  std::atomic<std::uint64_t> child_filter{0};  ///< one bit per child's edge, see `filter_bit`; clear: there is no such child
  std::atomic<held_bits*> holes{nullptr};
  std::atomic<cell_chunk*> more{nullptr};
  std::atomic<std::uint32_t> cuts{0};      ///< how often it was cut off; see run_store::try_cut
  std::atomic<std::uint32_t> children{0};  ///< runs behind blocks of this one; each is a user as well

  std::array<sparse_cell, inline_cells> cells{};
  mutable std::atomic<std::uint32_t> recency{0};  ///< see `note_use`
  std::atomic<std::uint64_t> heir{0};             ///< which child came last while there were few: a `heir_hint`
  std::atomic<std::uint64_t> pins{0};             ///< see `one_user` and `one_visit`
  spin_lock lock;
  std::atomic<bool> is_being_cut{false};    ///< written under lock; see run_store::try_cut
  bool has_tail_children = false;           ///< a child may stand behind the last block; under lock
  std::uint16_t free_cells = inline_cells;  ///< sparse ones; under lock
  std::uint16_t own_lines = 0;              ///< of the piece of memory, first column included
  /// Of one of its holders, who needs no map entry to find his holding: worker << 32 | number of the holding + 1; 0: of nobody. Written by
  /// the lane of that worker, taken by whoever finds it free.
  std::atomic<std::uint64_t> found_here{0};

  static constexpr std::uint64_t one_user = 1;                        ///< a holding or a child
  static constexpr std::uint64_t one_visit = std::uint64_t{1} << 32;  ///< whoever works with the run just now
  /// In `recency`: the run is to be evicted by everyone who holds it; below it stands the round of its last use.
  static constexpr std::uint32_t condemned = 0x8000'0000;

  [[nodiscard]] std::size_t bytes() const noexcept { return std::size_t{own_lines} * 64; }
  [[nodiscard]] run_column* first_column() noexcept { return reinterpret_cast<run_column*>(this + 1); }

  /// The blocks that may be read.
  [[nodiscard]] std::span<const std::uint64_t> blocks() const noexcept {
    const run_column* now = column.load(std::memory_order_acquire);
    return {now->locals(), now->length.load(std::memory_order_acquire)};
  }
  /// Copies the local hashes of `count` blocks from `start` on, all of them readable.
  void copy_locals(std::uint32_t start, std::uint32_t count, local_hash* out) const noexcept {
    std::ranges::transform(blocks().subspan(start, count), out, [](std::uint64_t bare) { return local_hash{bare}; });
  }
  [[nodiscard]] static std::uint64_t filter_bit(std::uint32_t offset, std::uint64_t local) noexcept {
    return std::uint64_t{1} << ((local ^ offset * std::uint64_t{0xD6E8'FEB8'6659'FD93}) * golden >> 58);
  }
  /// One visit more, unless the run is dead.
  [[nodiscard]] bool try_visit() noexcept;
  [[nodiscard]] bool is_dead() const noexcept { return pins.load(std::memory_order_acquire) == 0; }
  /// Holdings and children.
  [[nodiscard]] std::uint32_t users() const noexcept {
    return static_cast<std::uint32_t>(pins.load(std::memory_order_relaxed) % one_visit);
  }
  /// Nothing stands behind any of its blocks.
  [[nodiscard]] bool is_leaf() const noexcept { return children.load(std::memory_order_acquire) == 0; }
  /// A query or a store has come through here in this round (see eviction.hpp); takes a sentence of eviction back. Any lane. Written only
  /// when it says something new, so that a run that everybody reads stays in everybody's caches.
  void note_use(std::uint32_t round) const noexcept {
    if (recency.load(std::memory_order_relaxed) != round) recency.store(round, std::memory_order_relaxed);
  }
  /// Brings near what a reader of this run will need.
  void prefetch() const noexcept {
    const auto* const lines = reinterpret_cast<const char*>(this);
    bring_near(lines);
    bring_near(lines + 64);
    bring_near(lines + 128);
  }

  /// Calls `visit(slot, cell_word)` for every cell in use.
  template <class Visit>
  void each_cell(Visit visit) const {
    const auto each_sparse = [&](const sparse_cell* from, std::uint32_t count) {
      for (std::uint32_t i = 0; i < count; ++i) {
        const std::uint32_t value = from[i].load(std::memory_order_acquire);
        if (value != 0) visit(value >> cell_word::width, cell_word(static_cast<std::uint16_t>(value & ((1U << cell_word::width) - 1))));
      }
    };
    each_sparse(cells.data(), inline_cells);
    for (const cell_chunk* chunk = more.load(std::memory_order_acquire); chunk != nullptr;
         chunk = chunk->next.load(std::memory_order_acquire)) {
      if (!chunk->is_dense) {
        each_sparse(chunk->sparse(), chunk->count);
        continue;
      }
      for (std::uint32_t i = 0; i < chunk->count; ++i) {
        const cell_word word(chunk->dense()[i].load(std::memory_order_acquire));
        if (!word.is_empty()) visit(chunk->first_slot + i, word);
      }
    }
  }
};
static_assert(sizeof(run) == 128);

/// The sequence hash of block `offset` of a run, which must be readable and stay so (a run may be cut off). Any lane, inside a quiescent
/// scope.
[[nodiscard]] seq_hash seq_hash_at(const run& in, std::uint32_t offset, std::uint64_t seed);
/// The same in a column that the run has, or had when the caller's quiescent scope was open already. Writes down the marks on the way that
/// nobody has asked for yet, up to 4 ns for each block that they stand for; then at most `blocks_per_mark` blocks are rolled.
[[nodiscard]] seq_hash seq_hash_in(const run_column& column, seq_hash first, std::uint32_t offset, std::uint64_t seed);

}  // namespace kvc::core
