// The heap of this program: it counts what is asked of it, and fails when it is told to.
#pragma once

#include <cstddef>

namespace kvc::test {

/// All allocations of the thread that looks, `operator new` and the libraries' own `malloc` and `aligned_alloc` alike: what fails for one
/// thread does not for the others, as those of the transport.
struct watched_heap {
  static inline thread_local long before_failure = -1;         ///< how many allocations succeed before one fails; below 0: all do
  static inline thread_local bool spares_aligned = false;      ///< `aligned_alloc`, which Asio calls, never fails
  static inline thread_local std::size_t allocated_bytes = 0;  ///< that were asked for so far, given back or not
};

}  // namespace kvc::test
