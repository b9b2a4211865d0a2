// Someone on a lane whose engine's names the pools of other lanes may ask for.
#pragma once

#include "core/pool_applier.hpp"

namespace kvc::net {

/// An engine's stream, as pools see it. Lane: all members on the lane that owns it.
class name_source {
 public:
  name_source() = default;
  virtual ~name_source() = default;
  name_source(const name_source&) = delete;
  name_source& operator=(const name_source&) = delete;

  /// Tells the board of the question what it means by those names that it holds.
  virtual void answer(const core::name_question& asked) = 0;
};

}  // namespace kvc::net
