// Someone on a lane whose blocks may have to go when the index is over its byte budget.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/eviction.hpp"

namespace kvc::net {

/// How far somebody has come with a pass.
enum class eviction_part : std::uint8_t {
  more,     ///< the budget is used up, and there is more to do
  through,  ///< nothing is left to do in this pass
  not_now,  ///< busy with what must not be disturbed; lets go of the lane as soon as it is not
};

/// A holder of blocks, as eviction sees it. Lane: all members on the lane that owns it.
class evictable {
 public:
  evictable() = default;
  virtual ~evictable() = default;
  evictable(const evictable&) = delete;
  evictable& operator=(const evictable&) = delete;

  /// A piece of its part of the pass, by some `budget` blocks, which is lowered by them; see core::lane_blocks::evict_some.
  /// Who takes no part at all has told the pass (`note_passed_over`) and is through.
  [[nodiscard]] virtual eviction_part evict_some(core::eviction_pass& pass, std::size_t& budget) = 0;
  /// What is kept for it alone, beside index and names; approximate.
  [[nodiscard]] virtual std::size_t bytes() const = 0;
  /// The part of that which goes with blocks that wait for their place.
  [[nodiscard]] virtual std::size_t waiting_bytes() const = 0;
};

}  // namespace kvc::net
