// Someone on a lane whose blocks may have to go when the index is over its byte budget.
#pragma once

#include <cstddef>

#include "core/eviction.hpp"

namespace kvc::net {

/// A holder of blocks, as eviction sees it. Lane: all members on the lane that owns it.
class evictable {
 public:
  evictable() = default;
  virtual ~evictable() = default;
  evictable(const evictable&) = delete;
  evictable& operator=(const evictable&) = delete;

  /// A piece of its part of the pass, by some `budget` blocks, which is lowered by them; see core::lane_blocks::evict_some. True when it is
  /// through, or cannot take part now.
  [[nodiscard]] virtual bool evict_some(core::eviction_pass& pass, std::size_t& budget) = 0;
  /// What is kept for it alone, beside index and names; approximate.
  [[nodiscard]] virtual std::size_t bytes() const = 0;
  /// The part of that which goes with blocks that wait for their place.
  [[nodiscard]] virtual std::size_t waiting_bytes() const = 0;
};

}  // namespace kvc::net
