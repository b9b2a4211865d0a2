#include "core/page_allocator.hpp"

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace kvc::core {

#if defined(__linux__)

void* map_pages(std::size_t bytes) {
  void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  return memory;
}

void unmap_pages(void* pages, std::size_t bytes) noexcept {
  ::munmap(pages, bytes);
}

#else

void* map_pages(std::size_t bytes) {
  return ::operator new(bytes);
}

void unmap_pages(void* pages, std::size_t bytes) noexcept {
  ::operator delete(pages, bytes);
}

#endif

}  // namespace kvc::core
