// A hash table that says "not here" to almost every question by reading one word that is likely in the cache.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/bring_near.hpp"
#include "core/large_page.hpp"

namespace kvc::core {

/// Numbers of records by a mixed 64-bit hash, for look-ups that nearly always miss.
///
/// Story: a bucket is seven slots. Its seven 8-bit tags and a count of entries that found it full and went on are one 64-bit word, and the
/// words of all buckets lie together: 2 MiB for a million entries, on one huge page. A miss compares all seven tags at once with a few
/// instructions and no branch; only a candidate, one question in fifty or so, reads slots and records. The size is fixed, so that growing
/// never stops a lane. Pure; one lane.
class chunk_index {
 public:
  /// `capacity`: entries to expect; more make it slower, and up to 7/4 of it fit. At least 1.
  explicit chunk_index(std::size_t capacity);

  /// Whether there may be entries with this hash; false is certain.
  [[nodiscard]] bool may_hold(std::uint64_t mixed) const noexcept {
    const std::uint64_t word = *word_of(bucket_of(mixed));
    const std::uint64_t differ = (word ^ (tag_of(mixed) * every_tag)) | count_mask;  // a byte of zero where the tag is
    const std::uint64_t has_zero = (differ - every_byte) & ~differ & high_bits;      // lowest such byte is right, others may be false
    return (has_zero | (word & count_mask)) != 0;
  }
  void prefetch_word(std::uint64_t mixed) const noexcept { bring_near(word_of(bucket_of(mixed))); }
  void prefetch_slots(std::uint64_t mixed) const noexcept { bring_near(&slot_of(bucket_of(mixed), 0)); }

  /// Calls `is_it(number)` for candidates until one is accepted. False when there is none.
  template <class IsIt>
  bool find(std::uint64_t mixed, IsIt is_it) const;

  /// False when there is no room at all.
  [[nodiscard]] bool add(std::uint64_t mixed, std::uint32_t number) noexcept;
  /// Nothing happens when it is not there.
  void remove(std::uint64_t mixed, std::uint32_t number) noexcept;

  [[nodiscard]] std::size_t bytes() const noexcept { return (words_.size() + slots_.size()) * large_page_bytes; }

 private:
  static constexpr std::size_t ways = 7;
  static constexpr std::uint64_t every_byte = 0x0101'0101'0101'0101;
  static constexpr std::uint64_t every_tag = 0x0001'0101'0101'0101;  ///< the lower seven bytes
  static constexpr std::uint64_t high_bits = 0x8080'8080'8080'8080;
  static constexpr std::uint64_t count_mask = 0xFF00'0000'0000'0000;
  static constexpr std::size_t words_per_page = large_page_bytes / sizeof(std::uint64_t);
  using slots = std::array<std::uint32_t, 8>;  ///< the eighth keeps them aligned
  static constexpr std::size_t slots_per_page = large_page_bytes / sizeof(slots);

  [[nodiscard]] std::size_t bucket_of(std::uint64_t mixed) const noexcept { return static_cast<std::size_t>(mixed >> shift_); }
  static std::uint64_t tag_of(std::uint64_t mixed) noexcept { return (mixed & 0xFF) | ((mixed & 0xFF) == 0 ? 1 : 0); }
  [[nodiscard]] std::uint64_t* word_of(std::size_t bucket) const noexcept {
    return static_cast<std::uint64_t*>(words_[bucket / words_per_page].get()) + bucket % words_per_page;
  }
  [[nodiscard]] std::uint32_t& slot_of(std::size_t bucket, std::size_t way) const noexcept {
    return static_cast<slots*>(slots_[bucket / slots_per_page].get())[bucket % slots_per_page][way];
  }
  [[nodiscard]] std::size_t next(std::size_t bucket) const noexcept { return bucket + 1 == buckets_ ? 0 : bucket + 1; }

  std::size_t buckets_;
  unsigned shift_;
  std::vector<large_page> words_;
  std::vector<large_page> slots_;
};

template <class IsIt>
bool chunk_index::find(std::uint64_t mixed, IsIt is_it) const {
  const std::uint64_t tag = tag_of(mixed);
  std::size_t bucket = bucket_of(mixed);
  for (std::size_t i = 0; i < buckets_; ++i, bucket = next(bucket)) {
    const std::uint64_t word = *word_of(bucket);
    for (std::size_t way = 0; way < ways; ++way) {
      if ((word >> (8 * way) & 0xFF) == tag && is_it(slot_of(bucket, way))) return true;
    }
    if ((word & count_mask) == 0) return false;
  }
  return false;
}

}  // namespace kvc::core
