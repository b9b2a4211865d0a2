// What the first touch of memory costs on this machine, which on a virtual one is the host's business.
#pragma once

#include <cstddef>

namespace kvc::perf {

/// Milliseconds of CPU per huge page.
struct first_touch {
  double before_ms = 0;  ///< as found
  double after_ms = 0;   ///< right after all of it was used and given back
};

/// Touches so much memory on huge pages, gives it back, and does so again.
///
/// Why: a host may take back what its guest does not use, and a page it has to find anew costs fifty times as much (measured: 5.5 ms, not
/// 0.1). Tables that grow by a hundred megabytes in half a second then measure the host. A server that is started right after this
/// finds memory as it is on a machine of its own; where there is no such host, nothing changes. Takes up to some seconds.
first_touch touch_memory(std::size_t bytes);

/// Fills the reserve of large pages (core::keep_page_reserve) of this process, as the server does with its setting `index_reserve`; 0:
/// nothing. Ends early where there is no memory.
void reserve_memory(std::size_t mebibytes);

}  // namespace kvc::perf
