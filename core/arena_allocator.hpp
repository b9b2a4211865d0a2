// Containers of a library on memory of the arena.
#pragma once

#include <cstddef>
#include <limits>
#include <new>

#include "core/arena.hpp"

namespace kvc::core {

/// An allocator of the standard library's kind. Any lane.
template <class T, arena_kind kind>
struct arena_allocator {
  using value_type = T;
  template <class U>
  struct rebind {
    using other = arena_allocator<U, kind>;
  };

  arena_allocator() = default;
  template <class U>
  arena_allocator(const arena_allocator<U, kind>&) noexcept {}  // NOLINT(google-explicit-constructor): allocators convert

  [[nodiscard]] T* allocate(std::size_t count) {
    static_assert(alignof(T) <= 16, "what the arena gives is aligned to no more when it comes from the heap");
    if (count > std::numeric_limits<std::size_t>::max() / sizeof(T)) throw std::bad_array_new_length();
    return static_cast<T*>(arena_take(kind, count * sizeof(T)));
  }
  void deallocate(T* memory, std::size_t count) noexcept { arena_give(kind, memory, count * sizeof(T)); }

  friend bool operator==(const arena_allocator&, const arena_allocator&) noexcept { return true; }
};

}  // namespace kvc::core
