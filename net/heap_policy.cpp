#include "net/heap_policy.hpp"

#include <malloc.h>

namespace kvc::net {

void set_heap_policy() noexcept {
#ifdef __GLIBC__
  constexpr int kept_bytes = 8 << 20;
  constexpr int largest_kept = 4 << 20;
  // Setting either also ends the allocator's own guessing, which would move both up to 32 MiB and 64 MiB.
  static_cast<void>(::mallopt(M_TRIM_THRESHOLD, kept_bytes));
  static_cast<void>(::mallopt(M_MMAP_THRESHOLD, largest_kept));
  static_cast<void>(::mallopt(M_MXFAST, 0));
#endif
}

}  // namespace kvc::net
