// The answer of the index for one query: how deep each worker reaches, per medium and over all of them.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/ids.hpp"
#include "core/medium.hpp"

namespace kvc::core {

/// Depths of one worker, in blocks, each the length of the longest unbroken run of leading blocks of the query held ...
struct worker_depth {
  worker_id worker{};
  std::uint32_t any = 0;             ///< ... each block on any medium the worker can use, shared pools included
  std::uint32_t device_or_host = 0;  ///< ... each block on gpu or cpu
  std::array<std::uint32_t, max_media> on{};  ///< ... every block on this one medium
};

/// The depth of one worker, in blocks, on any medium.
struct worker_reach {
  worker_id worker{};
  std::uint32_t depth = 0;
};

/// A pool that only some workers can use: those of its own instance.
struct private_pool {
  worker_id pool{};
  std::vector<worker_id> users;  ///< never empty; the pool itself when its instance has no engine
};

/// Which blocks count, beside the worker's own.
struct match_scope {
  std::vector<worker_id> pools;            ///< shared pools: what they hold, every worker can use; sorted
  std::vector<private_pool> private_pools; ///< sorted by pool
  media_mask media = all_media;            ///< only these media count
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
