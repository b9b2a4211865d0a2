// How much all workers of a partition hold: a sum of which each worker keeps its own part.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "core/counters.hpp"

namespace kvc::core {

/// The (worker, medium, block) entries of one partition; a block that a worker holds on a medium under two names is two.
///
/// Story: parts change with every event and are read now and then, so a part is a lane's plain counter, and reading adds them up.
/// Thread-safety: `enroll` and `sum` from any lane, under a lock; each part is written by the lane of its worker only.
class entry_count {
 public:
  /// A worker's part, in a cache line of its own.
  struct alignas(64) part {
    lane_counter entries;
  };

  /// A new part. It counts for as long as the caller keeps it.
  [[nodiscard]] std::shared_ptr<part> enroll();
  [[nodiscard]] std::uint64_t sum() const;

 private:
  mutable std::mutex changing_;
  std::vector<std::weak_ptr<const part>> parts_;  ///< up to some twice as many as are kept; those that are gone go later
};

}  // namespace kvc::core
