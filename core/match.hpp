// The answer of the index for one query: how deep each worker reaches, per medium and over all of them.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "core/bare_allocator.hpp"
#include "core/ids.hpp"
#include "core/medium.hpp"

namespace kvc::core {

/// Depths of one worker, in blocks, each the length of the longest unbroken run of leading blocks of the query held ...
struct worker_depth {
  worker_id worker{};
  std::uint32_t any = 0;                      ///< ... each block on any medium the worker can use, shared pools included
  std::uint32_t device_or_host = 0;           ///< ... each block on gpu or cpu
  std::array<std::uint32_t, max_media> on{};  ///< ... every block on this one medium
};

/// The answer in the form the index finds it: sets of slots (see slot_table.hpp) that reach equally deep. Every slot that holds the first
/// block of the query is in exactly one place; only those on `media` count. Reused between queries to keep its memory.
struct match_levels {
  /// One slot and its depth in blocks, at least 1. Without initial values, so that room for many costs nothing.
  struct reach {
    std::uint32_t slot;
    std::uint32_t depth;
  };
  /// Many slots of one depth: slot i is among them when bit i % 64 of `sets[first + i / 64]` is set.
  struct level {
    std::uint32_t depth = 0;
    std::uint32_t first = 0;
    std::uint32_t words = 0;
  };
  std::vector<reach, bare_allocator<reach>> reaches;
  std::vector<level> levels;
  std::vector<std::uint64_t> sets;
  /// That slots were on when the query began. One on another medium was taken since: it may be of a worker that is among the others, and
  /// the query may not be about its medium, so it is passed over, as if it had come a moment later.
  media_mask media = all_media;

  /// Leaves `media` as it is.
  void clear() {
    reaches.clear();
    levels.clear();
    sets.clear();
  }
  /// Calls `visit(slot, depth)` for every slot of one level.
  template <class Visit>
  void each_of(const level& one, Visit& visit) const {
    for (std::uint32_t word = 0; word < one.words; ++word) {
      for (std::uint64_t rest = sets[one.first + word]; rest != 0; rest &= rest - 1) {
        visit(word * 64 + static_cast<std::uint32_t>(std::countr_zero(rest)), one.depth);
      }
    }
  }
  /// Calls `visit(slot, depth)` for every slot.
  template <class Visit>
  void each(Visit visit) const {
    for (const level& one : levels) each_of(one, visit);
    for (const reach& one : reaches) visit(one.slot, one.depth);
  }
  /// Whether a slot that is owned on `medium` counts.
  [[nodiscard]] bool counts(medium_id medium) const noexcept { return (mask_of(medium) & media) != 0; }
  /// The greatest depth any slot reaches, also one that does not count; 0 when there are none.
  [[nodiscard]] std::uint32_t deepest() const noexcept {
    std::uint32_t depth = 0;
    for (const level& one : levels) depth = std::max(depth, one.depth);
    for (const reach& one : reaches) depth = std::max(depth, one.depth);
    return depth;
  }
};

/// A pool that only some workers can use: those of its own instance.
struct private_pool {
  worker_id pool{};
  std::vector<worker_id> users;  ///< never empty; the pool itself when its instance has no engine
};

/// Which blocks count, beside the worker's own.
struct match_scope {
  std::vector<worker_id> pools;             ///< shared pools: what they hold, every worker can use; sorted
  std::vector<private_pool> private_pools;  ///< sorted by pool
  media_mask media = all_media;             ///< only these media count
};

/// Depths of every worker that holds at least one leading block itself, by ascending worker; and what a worker without any reaches
/// through the shared pools alone. Reused between queries to keep its memory.
struct match_result {
  std::vector<worker_depth> workers;
  worker_depth pools_alone;

  void clear() {
    workers.clear();
    pools_alone = worker_depth{};
  }
  /// Depths of `worker`: its own entry, or what the pools alone give.
  [[nodiscard]] const worker_depth& of(worker_id worker) const noexcept;
};

}  // namespace kvc::core
