#include "core/match.hpp"

#include <algorithm>

namespace kvc::core {

const worker_depth& match_result::of(worker_id worker) const noexcept {
  const auto found = std::ranges::lower_bound(workers, worker, {}, &worker_depth::worker);
  return found != workers.end() && found->worker == worker ? *found : pools_alone;
}

}  // namespace kvc::core
