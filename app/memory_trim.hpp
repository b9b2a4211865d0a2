// Memory that the index does not need any more goes back to the system, from a thread that has nothing else to do.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>

#include "core/arena.hpp"

namespace kvc::app {

/// Looks at the arena now and then, and trims it when enough of it is unused (see core::arena_trim, which takes too long for a lane).
///
/// After a trim that brought little, because what is free is spread thinly, the next looks come later and later, up to `most_periods`:
/// going through the free pieces again would only keep them from the lanes for a while. Runs from construction to destruction, which waits
/// for a trim that is under way.
class memory_trim {
 public:
  struct rules {
    std::chrono::milliseconds period = std::chrono::seconds(30);  ///< between two looks, at least
    double least_fragmentation = 0.25;                            ///< share of the mapped bytes that must be unused
    std::size_t least_mapped = std::size_t{64} << 20;             ///< bytes; below, there is nothing to gain
    unsigned most_periods = 16;                                   ///< between two looks when trimming brings little
  };
  /// The arena; called on the thread of this class only.
  struct access {
    std::function<core::arena_usage()> look = core::arena_now;
    std::function<std::size_t()> trim = core::arena_trim;
  };

  memory_trim() : memory_trim(rules{}, access{}) {}
  memory_trim(rules when, access arena);
  memory_trim(const memory_trim&) = delete;
  memory_trim& operator=(const memory_trim&) = delete;

 private:
  void run(const std::stop_token& stop);
  /// True when trimming was of use, or not needed.
  [[nodiscard]] bool look_once() const;

  rules rules_;
  access arena_;
  std::mutex waiting_;
  std::condition_variable_any wake_;
  std::jthread thread_;  ///< last: uses the rest
};

}  // namespace kvc::app
