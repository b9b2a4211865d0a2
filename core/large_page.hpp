// Memory in large pieces on huge pages, where the system has them: what is touched at random costs half when no address must be looked up.
#pragma once

#include <cstddef>
#include <memory>

namespace kvc::core {

inline constexpr std::size_t large_page_bytes = std::size_t{2} << 20;  ///< huge page of x86-64, and of arm64 with pages of 4 KiB

struct large_page_free {
  void operator()(void* page) const noexcept;
};
/// Owns `large_page_bytes` bytes, aligned to their size.
using large_page = std::unique_ptr<void, large_page_free>;

/// A fresh page, not zeroed; on a huge page if the system agrees, else on ordinary ones. Throws std::bad_alloc. Any lane.
[[nodiscard]] large_page make_large_page();

}  // namespace kvc::core
