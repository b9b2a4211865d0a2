#include "tests/allocation/watched_heap.hpp"

#include <cstdlib>
#include <new>

namespace {

/// Whether this allocation is the one to fail.
bool fails_now(std::size_t bytes) noexcept {
  using heap = kvc::test::watched_heap;
  heap::allocated_bytes += bytes;
  return heap::before_failure >= 0 && heap::before_failure-- == 0;
}

void* checked(void* memory) {
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

// See the linker's option --wrap: calls from the libraries of the product come here.
extern "C" {
void* __real_malloc(std::size_t bytes);
void* __real_aligned_alloc(std::size_t alignment, std::size_t bytes);
void* __wrap_malloc(std::size_t bytes) {
  return fails_now(bytes) ? nullptr : __real_malloc(bytes);
}
void* __wrap_aligned_alloc(std::size_t alignment, std::size_t bytes) {
  const bool is_spared = kvc::test::watched_heap::spares_aligned;
  return !is_spared && fails_now(bytes) ? nullptr : __real_aligned_alloc(alignment, bytes);
}
}

void* operator new(std::size_t bytes) {
  return checked(std::malloc(bytes == 0 ? 1 : bytes));
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  const auto to = static_cast<std::size_t>(alignment);
  return checked(std::aligned_alloc(to, (bytes + to - 1) / to * to));
}
/// Of the transport's threads, and its alone: it ends the process when there is none.
void* operator new(std::size_t bytes, const std::nothrow_t& /*tag*/) noexcept {
  return __real_malloc(bytes == 0 ? 1 : bytes);
}
void operator delete(void* memory, const std::nothrow_t& /*tag*/) noexcept {
  std::free(memory);
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}
