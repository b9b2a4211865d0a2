// Memory in large pieces on huge pages, where the system has them: what is touched at random costs half when no address must be looked up.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

namespace kvc::core {

inline constexpr std::size_t large_page_bytes = std::size_t{2} << 20;  ///< huge page of x86-64, and of arm64 with pages of 4 KiB

/// `bytes`, a multiple of `large_page_bytes`, from the system or the page_reserve, aligned to that, zeroed; on huge pages if the
/// system agrees. Null when there is no memory. Any lane.
[[nodiscard]] void* map_large_pages(std::size_t bytes) noexcept;
/// Gives back what `map_large_pages` gave; a single page to the page_reserve first, if there is room.
void unmap_large_pages(void* pages, std::size_t bytes) noexcept;

struct large_page_free {
  void operator()(void* page) const noexcept { unmap_large_pages(page, large_page_bytes); }
};
/// Owns `large_page_bytes` bytes, aligned to their size.
using large_page = std::unique_ptr<void, large_page_free>;

/// A fresh page. Throws std::bad_alloc. Any lane.
[[nodiscard]] large_page make_large_page();

/// Pieces of one size cut from large pages. Any lane; a short lock. Pages go back to the system with the pool.
class piece_pool {
 public:
  /// `bytes` divides `large_page_bytes`.
  explicit piece_pool(std::size_t bytes) noexcept : bytes_(bytes) {}

  /// Not zeroed; aligned to the largest power of two that divides the size. Throws std::bad_alloc.
  [[nodiscard]] void* take();
  void give(void* piece);
  [[nodiscard]] std::size_t bytes() const;

 private:
  std::size_t bytes_;
  mutable std::mutex lock_;
  std::vector<large_page> pages_;
  std::size_t cut_ = 0;  ///< bytes of the last page in use
  std::vector<void*> free_;
};

}  // namespace kvc::core
