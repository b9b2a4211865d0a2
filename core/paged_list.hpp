// A list that grows page by page: no element ever moves, and no growth costs more than one page.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "core/arena.hpp"

namespace kvc::core {

/// Elements by index, on pages of `page_size` from the arena. References stay valid. One owner.
template <class Element, std::size_t page_size, arena_kind kind>
class paged_list {
 public:
  [[nodiscard]] Element& operator[](std::size_t at) noexcept { return (*pages_[at / page_size])[at % page_size]; }
  [[nodiscard]] const Element& operator[](std::size_t at) const noexcept { return (*pages_[at / page_size])[at % page_size]; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  /// Bytes of the pages.
  [[nodiscard]] std::size_t bytes() const noexcept { return pages_.size() * sizeof(page); }
  /// A new, default element at the end. Throws std::bad_alloc.
  void grow() {
    if (size_ / page_size == pages_.size()) {
      owner fresh(new (arena_take(kind, sizeof(page))) page());
      pages_.push_back(std::move(fresh));
    }
    ++size_;
  }
  /// Gives back all elements and pages.
  void clear() noexcept {
    pages_ = std::vector<owner>();
    size_ = 0;
  }
  /// Gives back the last page with all elements on it. Precondition: there is one.
  void drop_last_page() noexcept {
    pages_.pop_back();
    size_ = pages_.size() * page_size;
  }

 private:
  using page = std::array<Element, page_size>;
  static_assert(alignof(page) <= (sizeof(page) % 64 == 0 ? 64 : 16), "the arena aligns to no more");
  struct give_back {
    void operator()(page* gone) const noexcept {
      std::destroy_at(gone);
      arena_give(kind, gone, sizeof(page));
    }
  };
  using owner = std::unique_ptr<page, give_back>;

  std::vector<owner> pages_;
  std::size_t size_ = 0;
};

}  // namespace kvc::core
