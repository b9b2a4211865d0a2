// How the general allocator treats the buffers of requests.
#pragma once

namespace kvc::app {

/// Lets each lane keep a few MiB that requests have used, instead of giving them back to the system after each and having them cleared
/// page by page for the next: a third of the time of a request of some 100 KiB. Bounded: 8 MiB at the end of each lane's heap. Larger single
/// buffers go back at once as ever. Call it before the lanes start. Without effect where the allocator is not glibc's.
void keep_request_buffers() noexcept;

}  // namespace kvc::app
