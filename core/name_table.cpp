#include "core/name_table.hpp"

#include <new>
#include <utility>

namespace kvc::core {

name_table::name_table() = default;
name_table::~name_table() = default;

/// Segments of a large table come from huge pages: every key touches another one, and much of the cost would be address translation.
std::uint64_t name_table::new_segment(unsigned bits) {
  constexpr std::size_t small_table = 32;
  constexpr std::size_t per_page = large_page_bytes / sizeof(segment);
  const std::size_t number = counts_.size();
  segment* made = nullptr;
  if (number < small_table) {
    first_segments_.push_back(std::make_unique<segment>());
    made = first_segments_.back().get();
  } else {
    const std::size_t on_page = (number - small_table) % per_page;
    if (on_page == 0) pages_.push_back(make_large_page());
    made = new (static_cast<std::byte*>(pages_.back().get()) + on_page * sizeof(segment)) segment();
  }
  counts_.push_back({.used = 0, .bits = static_cast<std::uint16_t>(bits)});
  return reinterpret_cast<std::uintptr_t>(made) | std::uint64_t{number} << address_bits;
}

/// Precondition: there is room somewhere.
void name_table::place(segment& into, std::uint8_t tag, std::uint64_t entry) noexcept {
  for (std::size_t at = entry % buckets;; at = (at + 1) % buckets) {
    bucket& line = into[at];
    if (const std::uint64_t free = line.ways_with(0); free != 0) {
      const std::size_t way = static_cast<std::size_t>(std::countr_zero(free)) / 8;
      line.tags[way] = tag;
      line.spots[way] = entry;
      return;
    }
    if (line.passed_on != 255) ++line.passed_on;
  }
}

bool name_table::add(std::uint64_t hash, name_spot spot) {
  if (directory_.empty()) directory_.push_back(new_segment(0));
  while (count_of(hash).used >= split_above) {
    if (!divide(hash)) return false;
  }
  ++count_of(hash).used;
  place(segment_of(hash), tag_of(hash), packed(hash, spot));
  ++size_;
  return true;
}

bool name_table::divide(std::uint64_t hash) {
  const std::uint64_t old_word = directory_word(hash);
  const std::size_t old_number = old_word >> address_bits;
  if (counts_[old_number].bits == most_bits) return false;
  if (counts_[old_number].bits == bits_) {
    std::vector<std::uint64_t> twice(directory_.size() * 2);
    for (std::size_t i = 0; i < twice.size(); ++i) twice[i] = directory_[i / 2];
    directory_.swap(twice);
    ++bits_;
  }
  const unsigned bits = ++counts_[old_number].bits;
  segment& old = address_in(old_word);
  auto low = std::make_unique<segment>();
  const std::uint64_t high_word = new_segment(bits);
  segment& high = address_in(high_word);
  std::uint16_t moved = 0;
  for (const bucket& line : old) {
    for (std::size_t way = 0; way < ways; ++way) {
      if (line.tags[way] == 0) continue;
      const auto leading = line.spots[way] >> 8 & 0xFFFF;  // the 16 leading bits of the hash
      const bool is_high = (leading >> (most_bits - bits) & 1) != 0;
      place(is_high ? high : *low, line.tags[way], line.spots[way]);
      moved = static_cast<std::uint16_t>(moved + (is_high ? 1 : 0));
    }
  }
  old = *low;
  counts_[old_number].used = static_cast<std::uint16_t>(counts_[old_number].used - moved);
  counts_[high_word >> address_bits].used = moved;
  const std::size_t span = std::size_t{1} << (bits_ - bits);
  const std::size_t first = static_cast<std::size_t>(hash >> (64 - bits_)) / (2 * span) * (2 * span);
  for (std::size_t i = 0; i < span; ++i) directory_[first + span + i] = high_word;
  return true;
}

void name_table::remove(std::uint64_t hash, name_spot spot) noexcept {
  if (directory_.empty()) return;
  segment& in = segment_of(hash);
  const std::uint64_t entry = packed(hash, spot);
  const std::size_t home = hash % buckets;
  for (std::size_t i = 0, at = home; i < buckets; ++i, at = (at + 1) % buckets) {
    bucket& line = in[at];
    for (std::uint64_t rest = line.ways_with(tag_of(hash)); rest != 0; rest &= rest - 1) {
      const std::size_t way = static_cast<std::size_t>(std::countr_zero(rest)) / 8;
      if (line.spots[way] != entry) continue;
      line.tags[way] = 0;
      --count_of(hash).used;
      --size_;
      for (std::size_t back = home; back != at; back = (back + 1) % buckets) {
        if (in[back].passed_on != 255) --in[back].passed_on;
      }
      return;
    }
    if (line.passed_on == 0) return;
  }
}

std::size_t name_table::bytes() const noexcept {
  return counts_.size() * (sizeof(segment) + sizeof(segment_count)) + directory_.capacity() * sizeof(std::uint64_t);
}

}  // namespace kvc::core
