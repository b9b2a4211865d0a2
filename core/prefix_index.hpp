// The concurrent positional index of one partition. First version: one oneTBB map from sequence hash to the workers that hold the block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "core/ids.hpp"
#include "core/match.hpp"
#include "core/medium.hpp"

namespace kvc::core {

/// Which worker holds which block of one partition, on which medium.
///
/// A block is identified by its prefix; within the index that is its sequence hash under the partition's seed.
///
/// Guarantees
///  1. `hold` and `release` for one worker are called by the lane that owns the worker only, in the order of its events.
///  2. `match` may be called from any lane at any time. It sees each worker's blocks as of some recent point of its events, never a block
///     that no event stored, never one whose release had returned before `match` was called.
///  3. Calls never wait for a lock longer than it takes to copy or change one block's holders.
///  4. Memory of a block is returned when its last holder lets go.
/// Re-entrancy: no callback is ever called with a lock held; there are no callbacks.
class prefix_index {
 public:
  explicit prefix_index(std::uint64_t seed);
  ~prefix_index();
  prefix_index(const prefix_index&) = delete;
  prefix_index& operator=(const prefix_index&) = delete;

  /// One more name of `block` is held by `worker` on `medium`. Owning lane only.
  void hold(seq_hash block, worker_id worker, medium_id medium);

  /// One name less. Releasing what is not held does nothing. Owning lane only.
  void release(seq_hash block, worker_id worker, medium_id medium);

  /// Depths for a query given by the local hashes of its blocks. `out` is cleared first. Any lane.
  void match(std::span<const local_hash> query, const match_scope& scope, match_result& out) const;

  /// The same for a query given by rolling sequence hashes under this partition's seed. Any lane.
  void match(std::span<const seq_hash> query, const match_scope& scope, match_result& out) const;

  /// Distinct blocks held by anyone. Approximate while writers run.
  [[nodiscard]] std::size_t blocks() const noexcept;
  /// Approximate heap bytes: nodes, bucket array and spilled holder lists.
  [[nodiscard]] std::size_t bytes() const noexcept;
  [[nodiscard]] std::uint64_t seed() const noexcept { return seed_; }

 private:
  struct table;
  std::uint64_t seed_;
  std::unique_ptr<table> table_;
};

}  // namespace kvc::core
