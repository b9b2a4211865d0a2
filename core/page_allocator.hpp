// Memory of its own pages for tables that are made anew with every change of membership.
#pragma once

#include <cstddef>
#include <limits>
#include <new>

namespace kvc::core {

/// From this size on a table has pages of its own: rounding up to pages of 4 KiB wastes less than a quarter.
inline constexpr std::size_t paged_from_bytes = std::size_t{16} << 10;

/// `bytes` on pages of their own, aligned to a page. Throws std::bad_alloc. Any lane.
[[nodiscard]] void* map_pages(std::size_t bytes);
/// Gives back what `map_pages` gave, of the same size.
void unmap_pages(void* pages, std::size_t bytes) noexcept;

/// An allocator for the tables of an immutable view, which grow with the fleet and are replaced by each worker that comes or goes.
///
/// Why: on the heap the old ones leave holes, which what the next worker needs is put into. Libraries take more than they use (a queue of
/// libzmq's is 16 KiB of which an idle stream touches a hundred bytes), and in a hole all of it is memory that has been touched: 1,000 idle
/// streams took twice what they needed. Mapping and giving back costs some microseconds, per worker that comes or goes.
template <class T>
struct page_allocator {
  using value_type = T;

  page_allocator() = default;
  template <class U>
  page_allocator(const page_allocator<U>&) noexcept {}  // NOLINT(google-explicit-constructor): allocators convert

  [[nodiscard]] T* allocate(std::size_t count) {
    static_assert(alignof(T) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);
    if (count > std::numeric_limits<std::size_t>::max() / sizeof(T)) throw std::bad_array_new_length();
    const std::size_t bytes = count * sizeof(T);
    return static_cast<T*>(bytes < paged_from_bytes ? ::operator new(bytes) : map_pages(bytes));
  }
  void deallocate(T* memory, std::size_t count) noexcept {
    const std::size_t bytes = count * sizeof(T);
    if (bytes < paged_from_bytes) {
      ::operator delete(memory, bytes);
    } else {
      unmap_pages(memory, bytes);
    }
  }

  friend bool operator==(const page_allocator&, const page_allocator&) noexcept { return true; }
};

}  // namespace kvc::core
