// What to do where there may be no memory to wait with.
#pragma once

#include <chrono>
#include <new>
#include <thread>

namespace kvc::net {

/// The lane as a whole stops for a moment, so that others have the time to let go of some memory. For what has to be tried again and must
/// not be given up.
inline void stand_still() {
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

/// Does what has to be done, and needs memory for it, until it has some.
template <class Work>
auto insist_on(Work work) {
  for (;;) {
    try {
      return work();
    } catch (const std::bad_alloc&) {
      stand_still();
    }
  }
}

}  // namespace kvc::net
