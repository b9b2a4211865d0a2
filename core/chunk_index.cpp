#include "core/chunk_index.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace kvc::core {
namespace {

constexpr std::size_t load = 4;  ///< entries per bucket of seven at capacity: one bucket in twenty overflows

}  // namespace

chunk_index::chunk_index(std::size_t capacity)
    : buckets_(std::bit_ceil(std::max<std::size_t>(2, (capacity + load - 1) / load))),
      shift_(64 - static_cast<unsigned>(std::countr_zero(buckets_))) {
  for (std::size_t at = 0; at < buckets_; at += words_per_page) {
    words_.push_back(make_large_page());
    std::memset(words_.back().get(), 0, large_page_bytes);
  }
  for (std::size_t at = 0; at < buckets_; at += slots_per_page) {
    slots_.push_back(make_large_page());
    std::memset(slots_.back().get(), 0, large_page_bytes);
  }
}

bool chunk_index::add(std::uint64_t mixed, std::uint32_t number) noexcept {
  std::size_t bucket = bucket_of(mixed);
  for (std::size_t i = 0; i < buckets_; ++i, bucket = next(bucket)) {
    std::uint64_t& word = *word_of(bucket);
    for (std::size_t way = 0; way < ways; ++way) {
      if ((word >> (8 * way) & 0xFF) != 0) continue;
      word |= tag_of(mixed) << (8 * way);
      slot_of(bucket, way) = number;
      return true;
    }
    if ((word & count_mask) != count_mask) word += std::uint64_t{1} << 56;  // 255: at least so many, for ever
  }
  return false;
}

void chunk_index::remove(std::uint64_t mixed, std::uint32_t number) noexcept {
  const std::size_t home = bucket_of(mixed);
  std::size_t bucket = home;
  for (std::size_t i = 0; i < buckets_; ++i, bucket = next(bucket)) {
    std::uint64_t& word = *word_of(bucket);
    for (std::size_t way = 0; way < ways; ++way) {
      if ((word >> (8 * way) & 0xFF) != tag_of(mixed) || slot_of(bucket, way) != number) continue;
      word &= ~(std::uint64_t{0xFF} << (8 * way));
      for (std::size_t back = home; back != bucket; back = next(back)) {
        std::uint64_t& passed = *word_of(back);
        if ((passed & count_mask) != count_mask) passed -= std::uint64_t{1} << 56;
      }
      return;
    }
    if ((word & count_mask) == 0) return;
  }
}

}  // namespace kvc::core
