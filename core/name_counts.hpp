// How often each of a few words has been seen: words come from strangers, so their number and length are bounded.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "core/counters.hpp"

namespace kvc::core {

/// Counts by name for metrics.
///
/// The first `max_names` words get a counter each, under at most `max_bytes` of their text with what cannot be printed replaced by `?`; all
/// later words share `others`. The counters take their kilobyte with the first word: nearly all streams never see one.
/// Lane: `add` on one lane; reading from anywhere, at any time.
class name_counts {
 public:
  static constexpr std::size_t max_names = 16;
  static constexpr std::size_t max_bytes = 48;

  /// An empty text goes to `others`, and so does every one while there is no memory.
  void add(std::string_view text, std::uint64_t times = 1) noexcept;

  /// How many words have a counter; those are the numbers 0 .. size()-1.
  [[nodiscard]] std::size_t size() const noexcept { return size_.load(std::memory_order_acquire); }
  /// The view lives as long as this object.
  [[nodiscard]] std::string_view name(std::size_t i) const noexcept { return {(*entries_)[i].text.data(), (*entries_)[i].length}; }
  [[nodiscard]] std::uint64_t times(std::size_t i) const noexcept { return (*entries_)[i].times.get(); }
  [[nodiscard]] std::uint64_t others() const noexcept { return others_.get(); }

 private:
  struct entry {
    std::array<char, max_bytes> text{};
    std::uint8_t length = 0;
    lane_counter times;
  };
  std::unique_ptr<std::array<entry, max_names>> entries_;  ///< set once, before `size_` first grows
  std::atomic<std::size_t> size_{0};
  lane_counter others_;
};

}  // namespace kvc::core
