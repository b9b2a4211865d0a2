#include "core/name_table.hpp"

#include <algorithm>
#include <bit>
#include <new>
#include <utility>

namespace kvc::core {
namespace {

constexpr std::size_t small_table = 32;  ///< segments that lie by themselves

}  // namespace

name_table::name_table() = default;
name_table::~name_table() = default;

/// Segments of a large table come from huge pages: every key touches another one, and much of the cost would be address translation.
std::uint64_t name_table::new_segment(unsigned bits, std::uint32_t prefix) {
  const std::size_t number = counts_.size();
  segment* made = nullptr;
  if (number < small_table) {
    first_segments_.push_back(std::make_unique<segment>());
    made = first_segments_.back().get();
  } else {
    constexpr std::size_t per_page = large_page_bytes / sizeof(segment);
    const std::size_t on_page = (number - small_table) % per_page;
    if (on_page == 0) pages_.push_back(make_large_page());
    made = new (static_cast<std::byte*>(pages_.back().get()) + on_page * sizeof(segment)) segment();
  }
  counts_.push_back({.room = static_cast<std::int16_t>(limit_of(number)), .bits = static_cast<std::uint16_t>(bits)});
  prefixes_.push_back(prefix);
  ++with_bits_[bits];
  return word_for(number, made, window_of(bits));
}

/// Precondition: there is room somewhere.
void name_table::put(segment& into, std::size_t home, std::uint16_t tag, std::uint32_t place) noexcept {
  for (std::size_t at = home;; at = bucket_behind(at, tag)) {
    bucket& line = into[at];
    if (const unsigned free = line.ways_with(0); free != 0) {
      const auto way = static_cast<std::size_t>(std::countr_zero(free));
      line.tags[way] = tag;
      line.places[way] = place;
      if (at != home) line.guests = static_cast<std::uint16_t>(line.guests | 1U << way);
      return;
    }
    line.pass_on(tag);
  }
}

bool name_table::add(std::uint64_t hash, std::uint32_t place, const named_records& all) {
  if (directory_.empty()) directory_.assign(2, new_segment(0, 0));
  while (count_of(hash).room <= 0) {
    if (!divide(hash, all)) return false;
  }
  --count_of(hash).room;
  const std::uint64_t word = directory_word(hash);
  put(address_in(word), home_of(hash), tag_of(hash, word & window_mask), place);
  ++size_;
  return true;
}

/// Of a segment that is being divided: what has to be asked for its hash.
struct name_table::division {
  segment& low;
  segment& high;
  unsigned bits = 0;  ///< after it
  std::uint16_t moved = 0;
  std::vector<std::uint32_t> unknown;

  void give(bool is_high, std::size_t home, std::uint16_t tag, std::uint32_t place) {
    const std::array<segment*, 2> halves{&low, &high};  // chosen without a jump, which nothing could predict
    put(*halves[is_high ? 1 : 0], home, tag, place);
    moved = static_cast<std::uint16_t>(moved + (is_high ? 1 : 0));
  }
  /// What can be told from a line alone: its own entries go to the same line of either half, without a jump for each, which nothing could
  /// predict. Precondition: both lines are empty.
  void share_out(const bucket& line, std::size_t at) {
    const unsigned deciding = 15 - (bits - 1) % window_step;
    const std::array<bucket*, 2> into{&low[at], &high[at]};
    std::array<std::size_t, 2> counts{};
    for (std::size_t way = 0; way < ways; ++way) {
      const std::uint16_t tag = line.tags[way];
      const std::size_t side = tag >> deciding & 1U;
      const bool is_its_own = tag != 0 && (line.guests >> way & 1U) == 0;
      into[side]->tags[counts[side]] = tag;
      into[side]->places[counts[side]] = line.places[way];
      counts[side] += is_its_own ? 1 : 0;
    }
    for (std::size_t side = 0; side < 2; ++side) {
      if (counts[side] != ways) into[side]->tags[counts[side]] = 0;  // what was written there last may not have counted
    }
    moved = static_cast<std::uint16_t>(moved + counts[1]);
    for (unsigned rest = line.guests; rest != 0; rest &= rest - 1)
      unknown.push_back(line.places[static_cast<std::size_t>(std::countr_zero(rest))]);
  }
  /// The same without telling anything.
  void take_places(const bucket& line) {
    for (std::size_t way = 0; way < ways; ++way) {
      if (line.tags[way] != 0) unknown.push_back(line.places[way]);
    }
  }
  void ask(const named_records& all) {
    constexpr std::size_t ahead = 16;  // of each step; about as many lines as a CPU waits for at once in all
    constexpr std::size_t steps = 3;
    for (std::size_t i = 0; i < unknown.size() + steps * ahead; ++i) {
      for (std::size_t step = 0, at = i; step < steps; ++step, at -= ahead) {
        if (at < unknown.size()) all.expect_at(static_cast<unsigned>(step + 1), unknown[at]);
      }
      if (i < steps * ahead) continue;
      const std::uint32_t place = unknown[i - steps * ahead];
      const std::uint64_t hash = all.hash_at(place);
      give(bits != 0 && (hash >> (64 - bits) & 1) != 0, home_of(hash), tag_of(hash, window_of(bits)), place);
    }
  }
};

bool name_table::divide(std::uint64_t hash, const named_records& all) {
  const std::uint64_t old_word = directory_word(hash);
  const std::size_t old_number = number_in(old_word);
  if (!may_deepen(counts_[old_number].bits)) return false;
  if (counts_[old_number].bits + shift_ == 64) {
    std::vector<std::uint64_t> twice(directory_.size() * 2);
    for (std::size_t i = 0; i < twice.size(); ++i) twice[i] = directory_[i / 2];
    directory_.swap(twice);
    --shift_;
  }
  const unsigned bits = counts_[old_number].bits + 1U;
  const std::uint64_t low_word = (old_word & ~window_mask) | window_of(bits);
  const std::uint64_t high_word = new_segment(bits, prefixes_[old_number] << 1 | 1U);
  --with_bits_[counts_[old_number].bits];
  ++with_bits_[++counts_[old_number].bits];
  prefixes_[old_number] <<= 1;
  const segment old = address_in(old_word);
  address_in(old_word) = segment{};
  division parts{.low = address_in(low_word), .high = address_in(high_word), .bits = bits, .moved = 0, .unknown = {}};
  const bool knows_tags = bits % window_step != 0;
  for (std::size_t at = 0; at < buckets; ++at) knows_tags ? parts.share_out(old[at], at) : parts.take_places(old[at]);
  parts.ask(all);
  const auto add_room = [this](std::size_t number, int more) {
    counts_[number].room = static_cast<std::int16_t>(counts_[number].room + more);
  };
  add_room(old_number, parts.moved);
  add_room(number_in(high_word), -parts.moved);
  point_to(low_word);
  point_to(high_word);
  return true;
}

void name_table::point_to(std::uint64_t word) noexcept {
  const std::size_t number = number_in(word);
  const unsigned further = 64 - shift_ - counts_[number].bits;
  std::fill_n(directory_.begin() + static_cast<std::ptrdiff_t>(std::size_t{prefixes_[number]} << further), std::size_t{1} << further, word);
}

bool name_table::join(std::uint64_t hash, const named_records& all) {
  const unsigned bits = counts_[number_in(directory_word(hash))].bits;
  if (bits == 0) return false;
  const std::uint64_t deciding = std::uint64_t{1} << (64 - bits);
  const std::uint64_t high_word = directory_word(hash | deciding);
  const std::size_t low_number = number_in(directory_word(hash & ~deciding));
  const std::size_t high_number = number_in(high_word);
  if (counts_[low_number].bits != bits || counts_[high_number].bits != bits || !is_sparse(low_number) || !is_sparse(high_number))
    return false;
  segment& low = segment_of(hash & ~deciding);
  const std::uint64_t low_word = (directory_word(hash & ~deciding) & ~window_mask) | window_of(bits - 1);
  division parts{.low = low, .high = low, .bits = bits - 1, .moved = 0, .unknown = {}};
  for (const segment* const half : {&low, &address_in(high_word)}) {
    for (const bucket& line : half->lines) parts.take_places(line);
  }
  counts_[low_number].room = static_cast<std::int16_t>(counts_[low_number].room - static_cast<int>(entries_of(high_number)));
  with_bits_[bits] -= 2;
  ++with_bits_[--counts_[low_number].bits];
  prefixes_[low_number] >>= 1;
  low = segment{};
  parts.ask(all);
  point_to(low_word);
  drop_segment(high_word);
  halve_directory();
  return true;
}

/// The last segment takes the place of one that nothing leads to any more.
void name_table::drop_segment(std::uint64_t word) {
  const std::size_t number = number_in(word);
  const std::size_t last = counts_.size() - 1;
  if (number != last) {
    const unsigned bits = counts_[last].bits;
    const std::size_t entries = entries_of(last);
    segment& moved = address_in(directory_[std::size_t{prefixes_[last]} << (64 - shift_ - bits)]);
    address_in(word) = moved;
    counts_[number] = {.room = static_cast<std::int16_t>(std::ptrdiff_t(limit_of(number)) - std::ptrdiff_t(entries)),
                       .bits = counts_[last].bits};
    prefixes_[number] = prefixes_[last];
    point_to(word_for(number, &address_in(word), window_of(bits)));
  }
  counts_.pop_back();
  prefixes_.pop_back();
  if (last < small_table) {
    first_segments_.pop_back();
  } else if ((last - small_table) % (large_page_bytes / sizeof(segment)) == 0) {
    pages_.pop_back();
  }
}

/// As long as no segment needs all of its bits; one is kept.
void name_table::halve_directory() {
  for (; shift_ != 63 && with_bits_[64 - shift_] == 0; ++shift_) {
    std::vector<std::uint64_t> half(directory_.size() / 2);
    for (std::size_t i = 0; i < half.size(); ++i) half[i] = directory_[2 * i];
    directory_.swap(half);
  }
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
