// How the general allocator treats what requests and events leave behind.
#pragma once

namespace kvc::net {

/// Fits the allocator to lanes that must never stop for long. Call it before the lanes start. Without effect where it is not glibc's.
///
/// 1. Each lane keeps a few MiB that requests have used, instead of giving them back to the system after each and having them cleared
///    page by page for the next: a third of the time of a request of some 100 KiB. Bounded: 8 MiB at the end of each lane's heap. Larger
///    single buffers go back at once as ever.
/// 2. Small pieces are joined with their neighbours as they are freed. Otherwise pieces of up to 128 bytes are kept aside (mallopt(3),
///    M_MXFAST) until somebody frees more than 64 KiB at once, who then joins all of them: 84 ms for a clear of 500,000 blocks that are
///    known by sequence hash only, 925 ms for 3 million, in which the lane answers nobody.
void set_heap_policy() noexcept;

}  // namespace kvc::net
