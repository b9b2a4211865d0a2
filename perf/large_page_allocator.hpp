// Containers on large pages, for what is written long before the measurement that reads it.
#pragma once

#include <cstddef>
#include <limits>
#include <new>

#include "core/large_page.hpp"

namespace kvc::perf {

/// An allocator of the standard library's kind, each piece of it on large pages of its own.
///
/// Why: a hypervisor that keeps the tables of pages itself finds a page of 4 KiB anew when it is used again later, which took 12.8 us where
/// it was measured (perf/results/ingest.md). Who is timed while it reads what was made long before spends its time on that, and the guest's
/// own account tells nothing of it. There are 512 times as few pages of 2 MiB; what they bring is told there as well.
/// Any thread; what one process has written, those that it forks may read.
template <class T>
struct large_page_allocator {
  using value_type = T;

  large_page_allocator() = default;
  template <class U>
  large_page_allocator(const large_page_allocator<U>&) noexcept {}  // NOLINT(google-explicit-constructor): allocators convert

  [[nodiscard]] T* allocate(std::size_t count) {
    if (count > most) throw std::bad_array_new_length();
    void* const made = core::map_large_pages(bytes_of(count));
    if (made == nullptr) throw std::bad_alloc();
    return static_cast<T*>(made);
  }
  void deallocate(T* memory, std::size_t count) noexcept { core::unmap_large_pages(memory, bytes_of(count)); }

  friend bool operator==(const large_page_allocator&, const large_page_allocator&) noexcept { return true; }

 private:
  static constexpr std::size_t most = (std::numeric_limits<std::size_t>::max() - core::large_page_bytes) / sizeof(T);
  static constexpr std::size_t bytes_of(std::size_t count) noexcept {
    return (count * sizeof(T) + core::large_page_bytes - 1) / core::large_page_bytes * core::large_page_bytes;
  }
};

}  // namespace kvc::perf
