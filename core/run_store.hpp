// The runs of one partition: makes, grows, pins and frees them, and gives out their cells.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "core/run.hpp"
#include "core/run_directory.hpp"
#include "core/sharded_count.hpp"
#include "core/slot_table.hpp"

namespace kvc::core {

/// A block by where it stands. A null run means "before the first position".
struct run_place {
  run* in = nullptr;
  std::uint32_t offset = 0;

  friend bool operator==(const run_place&, const run_place&) = default;
};

/// About what the directory keeps for a block that stands in no run and has one holder.
inline constexpr std::size_t bytes_per_lone_block = 96;

/// Consecutive blocks of one run.
struct run_stretch {
  run* in = nullptr;  ///< visited once for the caller; null when there is none
  std::uint32_t start = 0;
  std::uint32_t count = 0;
};

/// Runs, their directory, and the slots of those who hold them.
///
/// A block stands in exactly one place. Two lanes that bring the same new block meet either at the lock of the run at whose end it belongs,
/// or in the directory; the second one finds what the first one made. Thread-safety: writer members may be called from any lane that holds
/// a pin on the runs it names, inside a quiescent scope; what belongs to one worker's cell by the lane that owns the worker only.
class run_store {
 public:
  explicit run_store(std::uint64_t seed) : seed_(seed) {}
  /// Frees every run. No lane may use the store any more.
  ~run_store();
  run_store(const run_store&) = delete;
  run_store& operator=(const run_store&) = delete;

  /// Finds the longest stretch of `locals` behind `behind`, or makes it: joins blocks that are there, appends to the run when `behind` is
  /// its last block, else hangs a new run there. At least one block, at most `max_run_blocks`; nothing only when two different prefixes
  /// share one 64-bit sequence hash. `behind` is pinned by the caller; `locals` is not empty. The run of the answer is visited for the
  /// caller.
  [[nodiscard]] run_stretch follow(run_place behind, std::span<const local_hash> locals);

  /// Ends a visit.
  void leave(run* in) { unpin(in, run::one_visit); }
  /// A run in use by one more holding. Precondition: visited or in use by the caller.
  static void use(run& in) noexcept { in.pins.fetch_add(run::one_user, std::memory_order_relaxed); }
  void end_use(run* in) { unpin(in, run::one_user); }
  /// Brings near what `end_use` will need, should this be the last use. Inside a quiescent scope.
  void expect_end(const run& in) const noexcept;

  /// A cell of `in` for `slot` with this word. The run must be pinned; the cell stays valid until `give_back`.
  [[nodiscard]] cell_ref take_cell(run& in, std::uint32_t slot, cell_word word);
  void give_back(run& in, cell_ref cell);

  /// A record of what a slot holds in a run with holes, all clear, `words` times 64 blocks wide; linked so that readers find it.
  [[nodiscard]] held_bits* open_bits(run& in, std::uint32_t slot, std::uint32_t words);
  /// The same record with more room. Retires the old one.
  [[nodiscard]] held_bits* widen_bits(run& in, held_bits* bits, std::uint32_t words);
  void close_bits(run& in, held_bits* bits);

  /// Cuts a run off behind its first `length` blocks, at least one, so that another continuation may grow there. False, and nothing
  /// changed, when somebody may still need what is behind: a child or a holder stands there, or anyone but the caller (with `visits` of his
  /// own) works with the run just now.
  [[nodiscard]] bool try_cut(run& in, std::uint32_t length, std::uint32_t visits) { return cut(in, length, visits, no_slot, {}); }

  /// How the last holder of what is cut off takes it along.
  struct tail_move {
    std::function<void(run* child)> before;  ///< enters himself in the new run, which is visited once for him
    std::function<void()> after;             ///< lets go of what is not in the old run any more
  };
  /// The same, but `slot` may hold what is behind: it goes on in a run of its own, behind the cut. Readers see the holder in one or the
  /// other at every moment. `move` is called with the run locked; the caller owns the slot's cells.
  [[nodiscard]] bool try_move_tail(run& in, std::uint32_t length, std::uint32_t visits, std::uint32_t slot, const tail_move& move) {
    return cut(in, length, visits, slot, move);
  }

  /// Brings near what `try_move_tail` will need first; to be called some hundred nanoseconds before it. `length` is below the run's, which
  /// the caller pins. Inside a quiescent scope.
  void expect_move(const run& in, std::uint32_t length) const;

  /// What uses of runs are marked with from now on; see eviction.hpp. 0, for ever, without a byte budget. Any lane.
  void begin_round(std::uint32_t round) noexcept { round_.store(round, std::memory_order_relaxed); }
  [[nodiscard]] std::uint32_t round() const noexcept { return round_.load(std::memory_order_relaxed); }
  /// What would be freed with this run, which the caller pins, inside a quiescent scope; approximate while other lanes work with it.
  [[nodiscard]] static std::size_t bytes_of(run& in) noexcept;

  [[nodiscard]] slot_table& slots() noexcept { return slots_; }
  [[nodiscard]] const slot_table& slots() const noexcept { return slots_; }
  [[nodiscard]] run_directory& directory() noexcept { return directory_; }
  [[nodiscard]] const run_directory& directory() const noexcept { return directory_; }
  [[nodiscard]] std::uint64_t seed() const noexcept { return seed_; }
  /// Blocks in all runs, including those at the ends of runs that nobody holds any more.
  [[nodiscard]] std::size_t blocks() const noexcept { return blocks_.sum(); }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_.sum() + directory_.bytes(); }
  /// The same without the room that directories keep for what may come: what leaving blocks can give back.
  [[nodiscard]] std::size_t bytes_in_use() const noexcept;

 private:
  [[nodiscard]] seq_hash hash_behind(const run& in, std::uint32_t offset, local_hash local) const;
  [[nodiscard]] run_stretch find_or_make(run_place behind, std::span<const local_hash> locals);
  [[nodiscard]] run_stretch join_child(run_place behind, seq_hash first, std::span<const local_hash> locals) const;
  [[nodiscard]] run* make_run(run_place behind, seq_hash first, std::span<const local_hash> locals);
  [[nodiscard]] run_stretch hang(run_place behind, seq_hash first, std::span<const local_hash> locals);
  void append(run& in, std::span<const local_hash> locals);
  void note_child(run& parent, std::uint32_t offset, std::uint64_t local);
  [[nodiscard]] bool enter(run* fresh);
  [[nodiscard]] bool cut(run& in, std::uint32_t length, std::uint32_t visits, std::uint32_t slot, const tail_move& move);
  [[nodiscard]] run_column* count_column(run_column* made);
  void drop_column(run& in, run_column* column);
  static void note_heir(run& parent, const run& child) noexcept;
  void note_column(const run& of) noexcept;
  void free_run(run* gone);
  void unpin(run* in, std::uint64_t pin);
  static void free_bits(void* bits);
  void unlink(run& in, const held_bits* bits, held_bits* instead);
  [[nodiscard]] cell_chunk* add_chunk(run& in, std::uint32_t sparse_cells, std::uint32_t slot);

  std::uint64_t seed_;
  run_directory directory_;
  slot_table slots_;
  sharded_count blocks_;
  sharded_count bytes_;
  std::atomic<std::uint32_t> round_{0};
};

}  // namespace kvc::core
