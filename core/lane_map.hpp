// Which lane a worker's stream lives on.
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <vector>

#include "core/ids.hpp"

namespace kvc::core {

/// Sticky worker -> lane: a worker keeps its lane for as long as it has a stream, and through a replacement of it; new workers go to the
/// lane with the fewest streams, the lowest number first. Pure; control lane only.
class lane_map {
 public:
  /// `lanes` at least 1.
  explicit lane_map(std::size_t lanes) : streams_(lanes, 0) {}

  /// The lane for one more stream of `worker`. Balance every call with `release`.
  [[nodiscard]] std::size_t assign(const worker_key& worker) {
    const auto [entry, is_new] = homes_.try_emplace(worker);
    if (is_new) entry->second.lane = static_cast<std::size_t>(std::ranges::min_element(streams_) - streams_.begin());
    ++entry->second.streams;
    ++streams_[entry->second.lane];
    return entry->second.lane;
  }

  /// A stream of `worker` has ended.
  void release(const worker_key& worker) {
    const auto entry = homes_.find(worker);
    if (entry == homes_.end()) return;
    --streams_[entry->second.lane];
    if (--entry->second.streams == 0) homes_.erase(entry);
  }

 private:
  struct home {
    std::size_t lane = 0;
    std::size_t streams = 0;
  };
  std::vector<std::size_t> streams_;
  std::map<worker_key, home> homes_;
};

}  // namespace kvc::core
