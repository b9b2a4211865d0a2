// Blocks of memory of any size up to a large page, cut from large pages, whose free neighbours join again.
#pragma once

#include <array>
#include <atomic>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include <boost/unordered/unordered_flat_map.hpp>

#include "core/large_page.hpp"

namespace kvc::core {

/// Best fit with immediate joining by boundary tags (Knuth, "The Art of Computer Programming" 1, 2.5), in steps of a cache line; ranges of
/// more than 64 KiB are kept by their length in units of that.
///
/// Why not the heap: what has outgrown 4 KiB would lie on pages that the system clears one by one when they are touched first, in the
/// middle of an event. Why not buddies: of sizes just above a power of two they lose nearly half; M1 after churn took 40.4 bytes per entry
/// that way. Any lane; a short lock.
class page_blocks {
 public:
  static constexpr std::size_t step = 64;  ///< bytes; sizes are rounded up to it

  page_blocks() = default;  ///< the end gives back all pages, also those with blocks in use
  page_blocks(const page_blocks&) = delete;
  page_blocks& operator=(const page_blocks&) = delete;

  /// `bytes`, from 1 to large_page_bytes; not zeroed, aligned to a step, and to `bytes` where all blocks are of that one size and it is a
  /// power of two. Throws std::bad_alloc.
  [[nodiscard]] void* take(std::size_t bytes);
  /// Gives back what `take` gave, of the same size.
  void give(void* block, std::size_t bytes) noexcept;
  /// Gives pages without a block in use back to the system or the page_reserve; answers how many bytes. Takes long, and the lock shortly.
  std::size_t trim();
  /// Bytes of all pages.
  [[nodiscard]] std::size_t mapped() const noexcept { return mapped_.load(std::memory_order_relaxed); }

 private:
  static constexpr std::size_t page_steps = large_page_bytes / step;

  /// What is written at the beginning of a range of free steps, linked with those of its bin through itself.
  struct free_range {
    free_range* next;
    free_range** link;  ///< what points here
    std::size_t steps;  ///< written again in the last word of the range
  };
  static_assert(sizeof(free_range) + sizeof(std::size_t) <= step);
  struct page {
    large_page memory = make_large_page();
    std::byte* begin = static_cast<std::byte*>(memory.get());
    std::bitset<page_steps> is_free;  ///< told of the first and the last step of free ranges; nobody asks about those between

    [[nodiscard]] free_range* range_at(std::size_t first) noexcept;
    [[nodiscard]] std::size_t steps_before(std::size_t end) const noexcept;
  };

  static constexpr std::size_t fine_bins = 1'024;                          ///< one per length in steps
  static constexpr std::size_t bins = fine_bins + page_steps / fine_bins;  ///< and one per further 1,024 steps
  static std::size_t bin_of(std::size_t steps) noexcept { return steps < fine_bins ? steps : fine_bins - 1 + steps / fine_bins; }

  void add(std::unique_ptr<page> fresh);
  [[nodiscard]] free_range* find(std::size_t steps) noexcept;
  [[nodiscard]] free_range* any_longer(std::size_t bin) noexcept;
  [[nodiscard]] void* cut(std::size_t steps) noexcept;
  void put(page& of, std::size_t first, std::size_t steps) noexcept;
  void unlink(page& of, free_range* gone) noexcept;

  std::mutex lock_;
  std::array<free_range*, bins> free_{};
  std::array<std::uint64_t, bins / 64 + 1> is_any_free_{};                  ///< bit per bin
  boost::unordered_flat_map<std::uintptr_t, std::unique_ptr<page>> pages_;  ///< by address, in large pages
  std::atomic<std::size_t> mapped_{0};
};

}  // namespace kvc::core
