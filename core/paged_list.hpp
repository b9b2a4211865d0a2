// A list that grows page by page: no element ever moves, and no growth costs more than one page.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

namespace kvc::core {

/// Elements by index, on pages of `page_size`. References stay valid. One owner.
template <class Element, std::size_t page_size>
class paged_list {
 public:
  [[nodiscard]] Element& operator[](std::size_t at) noexcept { return (*pages_[at / page_size])[at % page_size]; }
  [[nodiscard]] const Element& operator[](std::size_t at) const noexcept { return (*pages_[at / page_size])[at % page_size]; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  /// A new, default element at the end.
  void grow() {
    if (size_ / page_size == pages_.size()) pages_.push_back(std::make_unique<std::array<Element, page_size>>());
    ++size_;
  }

 private:
  std::vector<std::unique_ptr<std::array<Element, page_size>>> pages_;
  std::size_t size_ = 0;
};

}  // namespace kvc::core
