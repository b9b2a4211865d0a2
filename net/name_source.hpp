// Someone on a lane whose engine's names others may ask for: the pools of other lanes, and queries.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/pool_applier.hpp"

namespace kvc::net {

/// An engine's stream, as those see it who ask for names. Lane: all members on the lane that owns it.
class name_source {
 public:
  name_source() = default;
  virtual ~name_source() = default;
  name_source(const name_source&) = delete;
  name_source& operator=(const name_source&) = delete;

  /// Tells the board of the question what it means by those names that it holds.
  virtual void answer(const core::name_question& asked) = 0;
  /// Goes on along a prompt that is told by names; see core::lane_blocks::follow.
  virtual void follow(const core::partition& home, std::span<const core::engine_hash> names, std::vector<core::seq_hash>& blocks,
                      std::size_t& budget) = 0;
};

}  // namespace kvc::net
