#include "core/large_page.hpp"

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include "core/page_reserve.hpp"

namespace kvc::core {

namespace {

#if defined(__linux__)

void* map_fresh(std::size_t bytes) noexcept {
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

void give_to_system(void* pages, std::size_t bytes) noexcept {
  if (pages != nullptr) ::munmap(pages, bytes);
}

#else

void* map_fresh(std::size_t bytes) noexcept {
  void* const memory = std::aligned_alloc(large_page_bytes, bytes);
  if (memory != nullptr) std::memset(memory, 0, bytes);
  return memory;
}

void give_to_system(void* pages, std::size_t) noexcept {
  std::free(pages);
}

#endif

struct page_reserve {
  std::atomic<std::size_t> wanted{0};
  std::mutex lock;
  std::vector<void*> pages;  ///< under lock; room for `wanted`, so that putting one aside cannot fail

  void* take() noexcept {
    if (wanted.load(std::memory_order_acquire) == 0) return nullptr;
    const std::lock_guard locked(lock);
    if (pages.empty()) return nullptr;
    void* const page = pages.back();
    pages.pop_back();
    return page;
  }
  bool put(void* page) noexcept {
    const std::lock_guard locked(lock);
    if (pages.size() >= wanted.load(std::memory_order_relaxed)) return false;
    pages.push_back(page);
    return true;
  }
  bool is_full() noexcept {
    const std::lock_guard locked(lock);
    return pages.size() >= wanted.load(std::memory_order_relaxed);
  }
};

page_reserve& reserve() noexcept {
  static page_reserve& only = *new page_reserve;  // never destroyed: pages come back until the very end
  return only;
}

}  // namespace

void* map_large_pages(std::size_t bytes) noexcept {
  void* const page = bytes == large_page_bytes ? reserve().take() : nullptr;
  return page != nullptr ? page : map_fresh(bytes);
}

void unmap_large_pages(void* pages, std::size_t bytes) noexcept {
  if (pages != nullptr && bytes == large_page_bytes && !reserve().is_full()) {
    std::memset(pages, 0, bytes);
    if (reserve().put(pages)) return;
  }
  give_to_system(pages, bytes);
}

void keep_page_reserve(std::size_t pages) {
  page_reserve& all = reserve();
  const std::lock_guard locked(all.lock);
  all.pages.reserve(pages);
  all.wanted.store(pages, std::memory_order_release);
}

bool grow_page_reserve() noexcept {
  constexpr std::size_t small_page = 4'096;  // where the system declines huge ones, each of these has to be touched
  if (reserve().is_full()) return false;
  void* const page = map_fresh(large_page_bytes);
  if (page == nullptr) return false;
  for (std::size_t at = 0; at < large_page_bytes; at += small_page) static_cast<volatile std::byte*>(page)[at] = std::byte{0};
  if (reserve().put(page)) return true;
  give_to_system(page, large_page_bytes);
  return false;
}

std::size_t page_reserve_bytes() noexcept {
  const std::lock_guard locked(reserve().lock);
  return reserve().pages.size() * large_page_bytes;
}

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
