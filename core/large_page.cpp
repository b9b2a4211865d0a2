#include "core/large_page.hpp"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace kvc::core {

#if defined(__linux__)

void* map_large_pages(std::size_t bytes) noexcept {
  // Mapped with room for the alignment; what is too much at both ends goes back at once.
  const std::size_t wanted = bytes + large_page_bytes;
  void* const memory = ::mmap(nullptr, wanted, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  auto* const begin = static_cast<std::byte*>(memory);
  const std::size_t before = (large_page_bytes - reinterpret_cast<std::uintptr_t>(begin) % large_page_bytes) % large_page_bytes;
  if (before != 0) ::munmap(begin, before);
  if (const std::size_t behind = large_page_bytes - before; behind != 0) ::munmap(begin + before + bytes, behind);
  ::madvise(begin + before, bytes, MADV_HUGEPAGE);  // advice: nothing is lost when the system declines
  return begin + before;
}

void unmap_large_pages(void* pages, std::size_t bytes) noexcept {
  if (pages != nullptr) ::munmap(pages, bytes);
}

#else

void* map_large_pages(std::size_t bytes) noexcept {
  void* const memory = std::aligned_alloc(large_page_bytes, bytes);
  if (memory != nullptr) std::memset(memory, 0, bytes);
  return memory;
}

void unmap_large_pages(void* pages, std::size_t) noexcept { std::free(pages); }

#endif

large_page make_large_page() {
  large_page page(map_large_pages(large_page_bytes));
  if (!page) throw std::bad_alloc();
  return page;
}

void* piece_pool::take() {
  const std::lock_guard lock(lock_);
  if (!free_.empty()) {
    void* const piece = free_.back();
    free_.pop_back();
    return piece;
  }
  if (pages_.empty() || cut_ == large_page_bytes) {
    pages_.push_back(make_large_page());
    cut_ = 0;
  }
  void* const piece = static_cast<std::byte*>(pages_.back().get()) + cut_;
  cut_ += bytes_;
  return piece;
}

void piece_pool::give(void* piece) {
  const std::lock_guard lock(lock_);
  free_.push_back(piece);
}

std::size_t piece_pool::bytes() const {
  const std::lock_guard lock(lock_);
  return pages_.size() * large_page_bytes;
}

}  // namespace kvc::core
