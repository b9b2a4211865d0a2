// Large pages that have been touched before anybody needs them.
#pragma once

#include <cstddef>

namespace kvc::core {

/// The reserve of single large pages (see large_page.hpp), one for all lanes.
///
/// Story: the system clears a page when it is touched first, and on a virtual machine the host may have to find it before: 0.2 to 12 ms for
/// 2 MiB, on a lane, in the middle of an event. Pages of the reserve have that behind them. `map_large_pages` takes them first when one
/// page is wanted; `unmap_large_pages` puts single pages back, cleared, as long as there is room. Several pages at once never come from
/// here.
///
/// Says how many pages may lie in the reserve; 0, as at the start: there is none. Fills and empties nothing. Any lane; throws
/// std::bad_alloc.
void keep_page_reserve(std::size_t pages);
/// Takes one more page from the system, touches it and lays it aside: for a thread that may wait. False when there is no room or no memory.
[[nodiscard]] bool grow_page_reserve() noexcept;
/// What lies in the reserve. Any lane.
[[nodiscard]] std::size_t page_reserve_bytes() noexcept;

}  // namespace kvc::core
