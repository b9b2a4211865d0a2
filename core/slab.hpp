// Records by small dense numbers, on large pages: growth moves nothing, and a number costs four bytes to keep.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <vector>

#include "core/large_page.hpp"

namespace kvc::core {

/// Says "no record" wherever a number of a slab is kept.
inline constexpr std::uint32_t no_record = 0xFFFF'FFFF;

/// Records that stay where they are from `take` to `give_back`, and numbers that are used again.
///
/// Why not a vector: it would move a hundred megabytes at one store; why not nodes: a pointer is twice as long, and the heap adds a header.
/// Memory is kept for later records and given back to the system only when the slab goes.
/// Pure; not thread-safe.
template <class Record>
class slab {
 public:
  static constexpr std::size_t per_page = large_page_bytes / sizeof(Record);

  slab() = default;
  ~slab() {
    for (std::uint32_t id = 0; id < made_; ++id) std::destroy_at(&at(id));
  }
  slab(const slab&) = delete;
  slab& operator=(const slab&) = delete;

  /// The number of a record in its initial state. Throws std::bad_alloc; there must be fewer than 2^32 - 1 records.
  [[nodiscard]] std::uint32_t take() {
    if (free_ != 0) return free_at(--free_);
    if (made_ / per_page == pages_.size()) pages_.push_back(make_large_page());
    std::construct_at(&at(made_));
    return made_++;
  }

  /// The record loses what it holds; its number may be given out again, unless there is no memory to remember it by.
  void give_back(std::uint32_t id) noexcept {
    std::destroy_at(&at(id));
    std::construct_at(&at(id));
    try {
      if (free_ / numbers_per_page == free_pages_.size()) free_pages_.push_back(std::make_unique_for_overwrite<number_page>());
    } catch (const std::bad_alloc&) {
      ++lost_;
      return;
    }
    free_at(free_++) = id;
  }

  [[nodiscard]] Record& operator[](std::uint32_t id) noexcept { return at(id); }
  [[nodiscard]] const Record& operator[](std::uint32_t id) const noexcept { return at(id); }
  void prefetch(std::uint32_t id) const noexcept { __builtin_prefetch(&at(id), 1); }

  [[nodiscard]] std::size_t size() const noexcept { return made_ - free_ - lost_; }
  /// One past the highest number that was ever given out. A number that is not in use leads to a record in its initial state.
  [[nodiscard]] std::uint32_t made() const noexcept { return made_; }
  /// Bytes taken from the system for records and their numbers.
  [[nodiscard]] std::size_t bytes() const noexcept {
    return pages_.size() * large_page_bytes + free_pages_.size() * sizeof(number_page) + pages_.capacity() * sizeof(large_page);
  }

 private:
  static constexpr std::size_t numbers_per_page = 16'384;
  using number_page = std::array<std::uint32_t, numbers_per_page>;

  [[nodiscard]] std::uint32_t& free_at(std::size_t place) noexcept {
    return (*free_pages_[place / numbers_per_page])[place % numbers_per_page];
  }
  [[nodiscard]] Record& at(std::uint32_t id) const noexcept { return static_cast<Record*>(pages_[id / per_page].get())[id % per_page]; }

  std::vector<large_page> pages_;
  std::vector<std::unique_ptr<number_page>> free_pages_;  ///< of numbers to be used again; a list in one piece would stall while it grows
  std::size_t free_ = 0;                                  ///< how many
  std::size_t lost_ = 0;                                  ///< numbers that could not be remembered
  std::uint32_t made_ = 0;
};

}  // namespace kvc::core
