// The exact depths of every worker from anywhere: intervals of equal holders, merged in order. Only where `union_walk` cannot go.
#pragma once

#include <cstdint>
#include <vector>

#include "core/match.hpp"
#include "core/medium.hpp"
#include "core/run_directory.hpp"

namespace kvc::core {

/// Folds the holders of a query's blocks, position by position, into depths.
///
/// Story: a query is fed as intervals of consecutive positions at which the same workers hold the same media. A worker runs on while it, or a
/// pool that it can use, holds every block; it may start anywhere as long as shared pools carry every block before. One pass over the
/// holders and the workers still running per interval.
/// Belongs to one thread; reused from query to query for its memory.
class depth_merge {
 public:
  /// Begins a query. Both must outlive it.
  void begin(const match_scope& scope, match_result& out);

  /// Blocks up to `end` (exclusive) from where the last call ended are held by `holders`, sorted by (worker, medium). False when no worker
  /// can reach further, so that the rest need not be told.
  bool advance(const holder_list& holders, std::uint32_t end);

  /// Ends the query: rows by ascending worker.
  void finish();

 private:
  /// A worker that still matches at the position in hand, or that the pools alone carry.
  struct runner {
    std::uint32_t worker = 0;
    std::uint32_t row = 0;         ///< where its depths are written
    media_mask alone = all_media;  ///< media on which every block so far lies
    bool device_or_host = true;
  };
  struct worker_media {
    std::uint32_t worker;
    media_mask held;
  };
  static bool step(runner& who, worker_depth& depth, media_mask held, std::uint32_t end) noexcept;
  media_mask gather(const holder_list& holders);

  const match_scope* scope_ = nullptr;
  match_result* out_ = nullptr;
  std::vector<worker_media> here_;
  std::vector<runner> active_;
  std::vector<runner> next_;
  runner pools_;
  bool pools_reach_ = true;  ///< every block so far lies in a shared pool, so a worker may still join here
};

}  // namespace kvc::core
