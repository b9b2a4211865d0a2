#include "core/name_table.hpp"

#include <algorithm>
#include <bit>
#include <new>

namespace kvc::core {

name_table::name_table() = default;
name_table::~name_table() = default;

/// Segments of a large table come from huge pages: every key touches another one, and much of the cost would be address translation.
std::uint64_t name_table::new_segment(unsigned bits, std::uint32_t prefix) {
  const std::size_t number = counts_.size();
  segment* made = nullptr;
  counts_.push_back({.room = static_cast<std::int16_t>(limit_of(number)), .bits = static_cast<std::uint16_t>(bits)});
  try {
    prefixes_.push_back(prefix);
    made = room_for_segment(number);
  } catch (...) {
    counts_.pop_back();
    prefixes_.resize(number);
    throw;
  }
  ++with_bits_[bits];
  return word_for(number, made, window_of(bits));
}

/// Memory for the next segment, all or nothing.
name_table::segment* name_table::room_for_segment(std::size_t number) {
  if (number < small_table) {
    first_segments_.push_back(std::make_unique<segment>());
    return first_segments_.back().get();
  }
  constexpr std::size_t per_page = large_page_bytes / sizeof(segment);
  const std::size_t on_page = (number - small_table) % per_page;
  if (on_page == 0) pages_.push_back(make_large_page());
  return new (static_cast<std::byte*>(pages_.back().get()) + on_page * sizeof(segment)) segment();
}

/// Precondition: there is room somewhere.
void name_table::put(segment& into, std::size_t home, std::uint16_t tag, std::uint32_t place) noexcept {
  for (std::size_t steps = 0, at = home;; ++steps, at = bucket_behind(at, tag)) {
    bucket& line = into[at];
    if (const unsigned free = line.ways_with(0); free != 0) {
      const auto way = static_cast<std::size_t>(std::countr_zero(free));
      line.tags[way] = tag;
      line.places[way] = place;
      if (steps != 0) line.welcome(way, steps);
      return;
    }
    line.pass_on(tag);
  }
}

bool name_table::add(std::uint64_t hash, std::uint32_t place, const named_records& all) {
  if (directory_.empty()) {
    directory_.reserve(2);  // so that nothing throws once there is a segment
    directory_.assign(2, new_segment(0, 0));
  }
  while (count_of(hash).room <= 0) {
    if (!divide(hash, all)) return false;
  }
  --count_of(hash).room;
  const std::uint64_t word = directory_word(hash);
  put(address_in(word), home_of(hash), tag_of(hash, word & window_mask), place);
  ++size_;
  return true;
}

std::size_t name_table::way_of(const bucket& line, std::uint16_t tag, std::uint32_t place) noexcept {
  for (unsigned rest = line.ways_with(tag); rest != 0; rest &= rest - 1) {
    const auto way = static_cast<std::size_t>(std::countr_zero(rest));
    if (line.places[way] == place) return way;
  }
  return ways;
}

void name_table::remove(std::uint64_t hash, std::uint32_t place) noexcept {
  if (directory_.empty()) return;
  const std::uint64_t word = directory_word(hash);
  segment& in = address_in(word);
  const std::uint16_t tag = tag_of(hash, word & window_mask);
  const std::size_t home = home_of(hash);
  for (std::size_t i = 0, at = home; i < buckets; ++i, at = bucket_behind(at, tag)) {
    bucket& line = in[at];
    if (const std::size_t way = way_of(line, tag, place); way != ways) {
      line.clear(way);
      ++count_of(hash).room;
      --size_;
      for (std::size_t back = home; back != at; back = bucket_behind(back, tag)) in[back].take_back(tag);
      return;
    }
    if (!line.has_passed_on(tag)) return;
  }
}

void name_table::renumber(std::uint64_t hash, std::uint32_t before, std::uint32_t now) noexcept {
  if (directory_.empty()) return;
  const std::uint64_t word = directory_word(hash);
  segment& in = address_in(word);
  const std::uint16_t tag = tag_of(hash, word & window_mask);
  for (std::size_t i = 0, at = home_of(hash); i < buckets; ++i, at = bucket_behind(at, tag)) {
    bucket& line = in[at];
    if (const std::size_t way = way_of(line, tag, before); way != ways) {
      line.places[way] = now;
      return;
    }
    if (!line.has_passed_on(tag)) return;
  }
}

/// Hashes up to `looked_ahead` names and asks for their lines.
void name_table::aim(std::span<const engine_hash> names, name_hasher hash_of, targets& at) const noexcept {
  const std::uint64_t* const directory = directory_.data();  // `at` might be where these stand, for all the compiler knows
  const unsigned shift = shift_;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::uint64_t hash = hash_of(names[i]);
    const std::uint64_t word = directory[hash >> shift];
    at.lines[i] = &address_in(word)[home_of(hash)];
    bring_within_reach(at.lines[i]);
    at.tags[i] = tag_of(hash, word & window_mask);
    at.numbers[i] = static_cast<std::uint32_t>(number_in(word));
  }
}

/// Calls `use(i, line, tag, number of the segment)` for each name; their lines are asked for some names before their turn.
template <class Use>
void name_table::each_in_turn(std::span<const engine_hash> names, name_hasher hash_of, Use use) const noexcept {
  std::array<targets, 2> both;
  const auto some = [&](std::size_t from) { return names.subspan(from, std::min(names.size() - from, looked_ahead)); };
  aim(some(0), hash_of, both[0]);
  for (std::size_t from = 0, turn = 0; from < names.size(); turn ^= 1U) {
    const std::size_t behind = from + some(from).size();
    if (behind < names.size()) aim(some(behind), hash_of, both[turn ^ 1U]);
    const targets& at = both[turn];
    for (std::size_t i = from; i < behind; ++i) use(i, *at.lines[i - from], at.tags[i - from], at.numbers[i - from]);
    from = behind;
  }
}

/// Adds a place, but for `size_`, where tags alone tell that its name is new, and its segment has room.
bool name_table::add_unmistakable(std::uint64_t hash, std::uint32_t place) noexcept {
  const std::uint64_t word = directory_word(hash);
  segment_count& count = counts_[number_in(word)];
  if (count.room <= 0) return false;
  segment& in = address_in(word);
  const std::uint16_t tag = tag_of(hash, word & window_mask);
  const std::size_t home = home_of(hash);
  for (std::size_t i = 0, at = home; i < buckets; ++i, at = bucket_behind(at, tag)) {
    if (in[at].ways_with(tag) != 0) return false;
    if (!in[at].has_passed_on(tag)) break;
  }
  --count.room;
  put(in, home, tag, place);
  return true;
}

name_table::leftover name_table::add_most(std::span<const engine_hash> names, name_hasher hash_of, std::uint32_t first) noexcept {
  leftover rest;
  if (directory_.empty()) {
    for (; rest.count < names.size(); ++rest.count) rest.which[rest.count] = static_cast<std::uint8_t>(rest.count);
    return rest;
  }
  each_in_turn(names, hash_of, [&, counts = counts_.data()](std::size_t i, bucket& line, std::uint16_t tag, std::uint32_t number) {
    const unsigned free = line.ways_with(0);
    if (free != 0 && !line.has_passed_on(tag) && line.ways_with(tag) == 0 && counts[number].room > 0) [[likely]] {
      const auto way = static_cast<unsigned>(std::countr_zero(free));
      line.tags[way] = tag;
      line.places[way] = first + static_cast<std::uint32_t>(i);
      --counts[number].room;
      return;
    }
    expect_next_line(hash_of(names[i]), tag);
    rest.which[rest.count++] = static_cast<std::uint8_t>(i);
  });
  std::size_t left = 0;
  for (const std::uint8_t which : rest.all()) {
    if (!add_unmistakable(hash_of(names[which]), first + which)) rest.which[left++] = which;
  }
  rest.count = left;
  size_ += names.size() - rest.count;
  return rest;
}

name_table::leftover name_table::remove_most(std::span<const engine_hash> names, name_hasher hash_of, std::uint32_t first) noexcept {
  leftover rest;
  if (directory_.empty()) return rest;
  each_in_turn(names, hash_of, [&, counts = counts_.data()](std::size_t i, bucket& line, std::uint16_t tag, std::uint32_t number) {
    const std::size_t way = way_of(line, tag, first + static_cast<std::uint32_t>(i));
    if (way == ways) [[unlikely]] {
      expect_next_line(hash_of(names[i]), tag);
      rest.which[rest.count++] = static_cast<std::uint8_t>(i);
      return;
    }
    line.clear(way);
    ++counts[number].room;
  });
  size_ -= names.size() - rest.count;
  return rest;
}

name_table::leftover name_table::renumber_most(std::span<const engine_hash> names, name_hasher hash_of, std::uint32_t before,
                                               std::uint32_t now) noexcept {
  leftover rest;
  if (directory_.empty()) return rest;
  each_in_turn(names, hash_of, [&](std::size_t i, bucket& line, std::uint16_t tag, std::uint32_t) {
    const std::size_t way = way_of(line, tag, before + static_cast<std::uint32_t>(i));
    if (way != ways) {
      line.places[way] = now + static_cast<std::uint32_t>(i);
    } else {
      expect_next_line(hash_of(names[i]), tag);
      rest.which[rest.count++] = static_cast<std::uint8_t>(i);
    }
  });
  return rest;
}

std::size_t name_table::bytes() const noexcept {
  return counts_.size() * (sizeof(segment) + sizeof(segment_count) + sizeof(std::uint32_t)) + directory_.capacity() * sizeof(std::uint64_t);
}

}  // namespace kvc::core
