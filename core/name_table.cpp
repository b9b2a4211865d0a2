#include "core/name_table.hpp"

#include <new>
#include <utility>

namespace kvc::core {

name_table::name_table() = default;
name_table::~name_table() = default;

/// Segments of a large table come from huge pages: every key touches another one, and most of the cost would be address translation.
name_table::segment* name_table::new_segment() {
  constexpr std::size_t small_table = 32;
  constexpr std::size_t per_page = large_page_bytes / sizeof(segment);
  const std::size_t number = segments_++;
  if (number < small_table) {
    first_segments_.push_back(std::make_unique<segment>());
    return first_segments_.back().get();
  }
  const std::size_t on_page = (number - small_table) % per_page;
  if (on_page == 0) pages_.push_back(make_large_page());
  return new (static_cast<std::byte*>(pages_.back().get()) + on_page * sizeof(segment)) segment();
}

void name_table::prefetch(std::uint64_t hash) const noexcept {
  if (!directory_.empty()) __builtin_prefetch(&segment_of(hash).all[hash % buckets], 1);
}

bool name_table::place(segment& into, std::uint8_t tag, std::uint64_t entry) noexcept {
  for (std::size_t i = 0, at = entry % buckets; i < buckets; ++i, at = (at + 1) % buckets) {
    bucket& line = into.all[at];
    for (std::size_t way = 0; way < ways; ++way) {
      if (line.tags[way] != 0) continue;
      line.tags[way] = tag;
      line.spots[way] = entry;
      ++into.used;
      return true;
    }
    if (line.passed_on != 255) ++line.passed_on;
  }
  return false;
}

bool name_table::add(std::uint64_t hash, name_spot spot) {
  if (directory_.empty()) {
    directory_.push_back(new_segment());
  }
  while (segment_of(hash).used >= split_above) {
    if (!divide(hash)) return false;
  }
  if (!place(segment_of(hash), tag_of(hash), packed(hash, spot))) return false;
  ++size_;
  return true;
}

bool name_table::divide(std::uint64_t hash) {
  segment& old = segment_of(hash);
  if (old.bits == most_bits) return false;
  if (old.bits == bits_) {
    std::vector<segment*> twice(directory_.size() * 2);
    for (std::size_t i = 0; i < twice.size(); ++i) twice[i] = directory_[i / 2];
    directory_.swap(twice);
    ++bits_;
  }
  const unsigned bits = old.bits + 1;
  auto low = std::make_unique<segment>();
  low->bits = bits;
  segment& high = *new_segment();
  high.bits = bits;
  for (const bucket& line : old.all) {
    for (std::size_t way = 0; way < ways; ++way) {
      if (line.tags[way] == 0) continue;
      const auto leading = line.spots[way] >> 8 & 0xFFFF;  // the 16 leading bits of the hash
      const bool is_high = (leading >> (most_bits - bits) & 1) != 0;
      (void)place(is_high ? high : *low, line.tags[way], line.spots[way]);  // either has room for all
    }
  }
  old = *low;
  const std::size_t span = std::size_t{1} << (bits_ - bits);
  const std::size_t first = static_cast<std::size_t>(hash >> (64 - bits_)) / (2 * span) * (2 * span);
  for (std::size_t i = 0; i < span; ++i) directory_[first + span + i] = &high;
  return true;
}

void name_table::remove(std::uint64_t hash, name_spot spot) noexcept {
  if (directory_.empty()) return;
  segment& in = segment_of(hash);
  const std::uint64_t entry = packed(hash, spot);
  const std::size_t home = hash % buckets;
  for (std::size_t i = 0, at = home; i < buckets; ++i, at = (at + 1) % buckets) {
    bucket& line = in.all[at];
    for (std::size_t way = 0; way < ways; ++way) {
      if (line.tags[way] == 0 || line.spots[way] != entry) continue;
      line.tags[way] = 0;
      --in.used;
      --size_;
      for (std::size_t back = home; back != at; back = (back + 1) % buckets) {
        if (in.all[back].passed_on != 255) --in.all[back].passed_on;
      }
      return;
    }
    if (line.passed_on == 0) return;
  }
}

std::size_t name_table::bytes() const noexcept { return segments_ * sizeof(segment) + directory_.capacity() * sizeof(segment*); }

}  // namespace kvc::core
