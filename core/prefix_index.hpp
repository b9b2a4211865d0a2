// The concurrent positional index of one partition: runs of blocks, how far each worker holds them, and the answer to a query.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/ids.hpp"
#include "core/match.hpp"
#include "core/medium.hpp"
#include "core/run_store.hpp"

namespace kvc::core {

/// Which worker holds which block of one partition, on which medium.
///
/// A block is identified by its prefix. It stands in a run (run.hpp), or, when its publisher names it by its sequence hash and tells no
/// local hash, alone in the directory.
///
/// Guarantees
///  1. What belongs to one worker is written by the lane that owns the worker only, in the order of its events, through lane_blocks.
///  2. `match` may be called from any lane at any time. It sees each worker's blocks as of some recent point of its events, never a block
///     that no event stored, never one whose removal had returned before `match` was called.
///  3. A reader never waits for a writer, but for the element lock of the map of blocks that stand in no run while one entry is copied, and
///     begins again when a run on its way was cut off meanwhile; it writes nothing shared,
///     but for one mark per run and round where there is a byte budget (eviction.hpp).
///  4. Memory of a run is returned when its last block has lost its last holder and no run stands behind it.
/// Re-entrancy: no callback is ever called with a lock held; there are no callbacks.
class prefix_index {
 public:
  explicit prefix_index(std::uint64_t seed);

  /// One more name of a block that is known by its sequence hash only is held by `worker` on `medium`. Owning lane only.
  void hold(seq_hash block, worker_id worker, medium_id medium) { runs_.directory().hold(block, worker, medium); }

  /// One name less. Releasing what is not held does nothing. Owning lane only.
  void release(seq_hash block, worker_id worker, medium_id medium) { runs_.directory().release(block, worker, medium); }

  /// Depths for a query given by the local hashes of its blocks. `out` is cleared first. Any lane.
  void match(std::span<const local_hash> query, const match_scope& scope, match_result& out) const;

  /// The same for a query given by rolling sequence hashes under this partition's seed. Any lane.
  void match(std::span<const seq_hash> query, const match_scope& scope, match_result& out) const;

  /// The same as levels of slots, as the walk finds them: what a router that picks the deepest needs, at a fraction of the cost. `out` is
  /// cleared first. False, and nothing found, where slots cannot stand for themselves: several media, pools, or blocks outside the runs.
  /// Any lane; slots are told by `slots()`, inside the same quiescent scope if they are to be those of the answer.
  [[nodiscard]] bool match(std::span<const local_hash> query, const match_scope& scope, match_levels& out) const;
  [[nodiscard]] bool match(std::span<const seq_hash> query, const match_scope& scope, match_levels& out) const;

  [[nodiscard]] const slot_table& slots() const noexcept { return runs_.slots(); }

  /// Distinct blocks kept: those held by anyone, and those at the end of a held run that were. Approximate while writers run.
  [[nodiscard]] std::size_t blocks() const noexcept { return runs_.blocks() + runs_.directory().lone_blocks(); }
  [[nodiscard]] std::size_t run_count() const noexcept { return runs_.directory().runs(); }
  /// Distinct blocks held by anyone, counted one by one. For tests and diagnosis: no lane may write meanwhile.
  [[nodiscard]] std::size_t count_held() const;
  /// Approximate heap bytes of runs, cells and directory; the names are kept by the lanes.
  [[nodiscard]] std::size_t bytes() const noexcept { return runs_.bytes(); }
  /// The part of them that leaving blocks can give back.
  [[nodiscard]] std::size_t bytes_in_use() const noexcept { return runs_.bytes_in_use(); }
  [[nodiscard]] std::uint64_t seed() const noexcept { return runs_.seed(); }
  /// Different for every index of the process, ever.
  [[nodiscard]] std::uint64_t number() const noexcept { return number_; }

  /// The runs, for lane_blocks, their only writer.
  [[nodiscard]] run_store& runs() noexcept { return runs_; }

 private:
  run_store runs_;
  std::uint64_t number_;
};

}  // namespace kvc::core
