// A way into a stream's part of the index for what is found out about its blocks elsewhere than in the stream.
#pragma once

#include "core/event.hpp"

namespace kvc::net {

/// Something that applies events as if its publisher had sent them, between two batches of the publisher.
/// Lane: the stream's. Bounded: what comes faster than it can be applied is left out, and found again by the next look at the store.
class index_inlet {
 public:
  index_inlet() = default;
  index_inlet(const index_inlet&) = delete;
  index_inlet& operator=(const index_inlet&) = delete;
  virtual ~index_inlet() = default;

  virtual void take_aside(core::event_batch batch) = 0;
};

}  // namespace kvc::net
