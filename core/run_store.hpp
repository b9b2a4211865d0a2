// The runs of one partition: makes, grows, pins and frees them, and gives out their cells.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/run.hpp"
#include "core/run_directory.hpp"

namespace kvc::core {

/// A block by where it stands. A null run means "before the first position".
struct run_place {
  run* in = nullptr;
  std::uint32_t offset = 0;

  friend bool operator==(const run_place&, const run_place&) = default;
};

/// Consecutive blocks of one run.
struct run_stretch {
  run* in = nullptr;         ///< pinned once for the caller; null when there is none
  std::uint32_t start = 0;
  std::uint32_t count = 0;
};

/// Runs and their directory.
///
/// A block stands in exactly one place. Two lanes that bring the same new block meet either at the lock of the run at whose end it belongs, or
/// in the directory; the second one finds what the first one made.
/// Thread-safety: writer members may be called from any lane that holds a pin on the runs it names, inside a quiescent scope; what belongs to
/// one worker's cell by the lane that owns the worker only.
class run_store {
 public:
  explicit run_store(std::uint64_t seed) : seed_(seed) {}
  /// Frees every run. No lane may use the store any more.
  ~run_store();
  run_store(const run_store&) = delete;
  run_store& operator=(const run_store&) = delete;

  /// Finds the longest stretch of `locals` behind `behind`, or makes it: joins blocks that are there, appends to the run when `behind` is its
  /// last block, else hangs a new run there. At least one block, at most `max_run_blocks`; nothing only when two different prefixes share
  /// one 64-bit sequence hash. `behind` is pinned by the caller; `locals` is not empty.
  [[nodiscard]] run_stretch follow(run_place behind, std::span<const local_hash> locals);

  void unpin(run* in);

  /// A cell of `in` with this value. The run must be pinned; the cell stays valid until `give_back` and is written by its lane with release.
  [[nodiscard]] run_cell* take_cell(run& in, cell_value value);
  void give_back(run& in, run_cell* cell);

  /// A record of what a worker holds in a run with holes, all clear, `words` times 64 blocks wide; linked so that readers find it.
  [[nodiscard]] held_bits* open_bits(run& in, worker_id worker, medium_id medium, std::uint32_t words);
  /// The same record with more room. Retires the old one.
  [[nodiscard]] held_bits* widen_bits(run& in, held_bits* bits, std::uint32_t words);
  void close_bits(run& in, held_bits* bits);

  [[nodiscard]] run_directory& directory() noexcept { return directory_; }
  [[nodiscard]] const run_directory& directory() const noexcept { return directory_; }
  [[nodiscard]] std::uint64_t seed() const noexcept { return seed_; }
  /// Blocks in all runs, including those at the ends of runs that nobody holds any more.
  [[nodiscard]] std::size_t blocks() const noexcept { return blocks_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_.load(std::memory_order_relaxed) + directory_.bytes(); }

 private:
  [[nodiscard]] run_stretch join_child(run_place behind, seq_hash first, std::span<const local_hash> locals) const;
  [[nodiscard]] run* make_run(run_place behind, seq_hash first, std::span<const local_hash> locals);
  [[nodiscard]] run_column* make_column(std::uint32_t capacity);
  [[nodiscard]] run_stretch hang(run_place behind, seq_hash first, std::span<const local_hash> locals);
  void append(run& in, std::span<const local_hash> locals);
  void free_run(run* gone);
  void unlink(run& in, const held_bits* bits, held_bits* instead);

  std::uint64_t seed_;
  run_directory directory_;
  std::atomic<std::size_t> blocks_{0};
  std::atomic<std::size_t> bytes_{0};
};

}  // namespace kvc::core
