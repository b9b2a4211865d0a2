// A compact hash table from fingerprints of names to where the names are written down; the names themselves are verified there.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "core/arena_allocator.hpp"
#include "core/bring_near.hpp"
#include "core/ids.hpp"
#include "core/large_page.hpp"
#include "core/mixed_bits.hpp"
#include "core/spread.hpp"

namespace kvc::core {

/// The hash of a name within a space: both halves of its product with a secret number. Values without state beyond these; every name that
/// comes, goes or is looked for is hashed, some more than once, and what that takes shows in the time of events. The multiplier is secret
/// as well, since the differences between products with a known one are known.
class name_hasher {
 public:
  explicit name_hasher(std::uint64_t space) noexcept
      : salt_(space * golden ^ spread_secret()), multiplier_((spread_secret() * golden ^ 0xD6E8'FEB8'6659'FD93U) | 1U) {}

  [[nodiscard]] std::uint64_t operator()(engine_hash name) const noexcept {
    __extension__ using twice_as_wide = unsigned __int128;
    const auto product = static_cast<twice_as_wide>(name.get() ^ salt_) * multiplier_;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
  }

 private:
  std::uint64_t salt_;
  std::uint64_t multiplier_;
};

/// What the places of a table lead to. A table keeps 15 bits of each hash, and asks here for the whole where it divides.
class named_records {
 public:
  /// Writes down, from `hashes` on, the hash under which each of `places` was added. There are some thousand places at most, in no order,
  /// so that many can be asked for at once: see `hash_in_turn`.
  virtual void hashes_at(std::span<const std::uint32_t> places, std::uint64_t* hashes) const = 0;

 protected:
  ~named_records() = default;
};

/// `named_records::hashes_at` for records of which `hash_at(place)` tells one hash, and `expect_at(step, place)` brings near what that will
/// need, in steps from 1 to `steps`, each of which uses what the one before has brought.
template <unsigned steps, class ExpectAt, class HashAt>
void hash_in_turn(std::span<const std::uint32_t> places, std::uint64_t* hashes, ExpectAt expect_at, HashAt hash_at) {
  constexpr std::size_t ahead = 16;  // of each step; about as many lines as a CPU waits for at once in all
  for (std::size_t i = 0; i < places.size() + steps * ahead; ++i) {
    for (unsigned step = 1; step <= steps; ++step) {
      const std::size_t at = i - (step - 1) * ahead;  // beyond all of them before the first has come so far
      if (at < places.size()) expect_at(step, places[at]);
    }
    if (i >= steps * ahead) hashes[i - steps * ahead] = hash_at(places[i - steps * ahead]);
  }
}

/// Places, which are numbers of the caller's, by the 64-bit hash of the name written down there. One cache line is touched per key.
///
/// Story: a bucket is a line: ten 16-bit tags and ten places, and counts of entries that found it full and went on to another one.
/// Buckets lie in segments of 128; a full segment is divided in two by one more leading bit of the hash, so that growth moves some 1,100
/// entries at a time and never the whole table. A tag is the 15 bits behind a multiple of four leading ones, so that it tells the next bit
/// to divide by, and at least 11 that the segment does not; at every fourth division tags are made anew from the names, as is at any
/// division what stands more than one bucket from its own. What is counted per segment lies apart, where it stays near. Names that come or
/// go together do so in one pass over their lines, and only those that need more than one line take the general way. Two sparse halves
/// become one segment again where the owner asks for it, the last segment moves to the place of the one that went, and so a table
/// gives back what a peak took.
/// Lane: belongs to one lane.
class name_table {
 public:
  name_table();
  ~name_table();
  name_table(const name_table&) = delete;
  name_table& operator=(const name_table&) = delete;

  /// Brings the line of a hash near; to be called some keys ahead of the call that needs it.
  void prefetch(std::uint64_t hash) const noexcept {
    if (!directory_.empty()) bring_near(&segment_of(hash)[home_of(hash)]);
  }
  /// The same for the first names of many, after which `add_most` and `remove_most` look ahead by themselves; to be called some hundred
  /// nanoseconds before them.
  void prefetch(std::span<const engine_hash> names, name_hasher hash_of) const noexcept {
    if (directory_.empty()) return;
    for (const engine_hash name : names.first(std::min(names.size(), looked_ahead))) {
      const std::uint64_t hash = hash_of(name);
      bring_within_reach(&segment_of(hash)[home_of(hash)]);
    }
  }

  /// Calls `is_it(place)` for the candidates of a hash until one is accepted. False when there is none.
  template <class IsIt>
  [[nodiscard]] bool find(std::uint64_t hash, IsIt is_it) const;

  /// Adds a place; `all` knows every place of the table but this one. False when the table cannot grow any further: after some three and
  /// a half billion entries, or earlier where hashes have been chosen to agree in far more leading bits than chance would have it.
  [[nodiscard]] bool add(std::uint64_t hash, std::uint32_t place, const named_records& all);

  /// Takes a place out; nothing happens when it is not there.
  void remove(std::uint64_t hash, std::uint32_t place) noexcept;

  static constexpr std::size_t most_at_once = 256;
  /// Which of the names given to `add_most` or `remove_most` are still to be done, in order.
  struct leftover {
    std::array<std::uint8_t, most_at_once> which;
    std::size_t count = 0;

    [[nodiscard]] std::span<const std::uint8_t> all() const noexcept { return {which.data(), count}; }
  };
  /// Adds a place where tags tell that nothing like it is there, and its segment has room; else nothing.
  [[nodiscard]] bool add_if_unmistakable(std::uint64_t hash, std::uint32_t place) noexcept {
    const bool is_added = !directory_.empty() && add_unmistakable(hash, place);
    size_ += is_added ? 1 : 0;
    return is_added;
  }
  /// Adds place `first + i` for each of up to `most_at_once` names where tags tell that nothing like it is there, and its segment has room:
  /// in one pass where one line tells it, in a second where others have to be asked. Of equal names only the first can be added here.
  [[nodiscard]] leftover add_most(std::span<const engine_hash> names, name_hasher hash_of, std::uint32_t first) noexcept;
  /// Takes place `first + i` out for each of up to `most_at_once` names where it stands in the first line it may stand in.
  [[nodiscard]] leftover remove_most(std::span<const engine_hash> names, name_hasher hash_of, std::uint32_t first) noexcept;
  /// Puts place `now + i` instead of `before + i` for each of up to `most_at_once` names where that stands in the first line it may stand
  /// in.
  [[nodiscard]] leftover renumber_most(std::span<const engine_hash> names, name_hasher hash_of, std::uint32_t before,
                                       std::uint32_t now) noexcept;
  /// One place instead of another; nothing happens when that is not there.
  void renumber(std::uint64_t hash, std::uint32_t before, std::uint32_t now) noexcept;

  /// Joins the segment of a hash with its other half as long as both are sparse; some 200 entries at most are moved each time. To be called
  /// for some of the names that were removed; `all` knows every place of the table.
  void join_sparse(std::uint64_t hash, const named_records& all) {
    while (!directory_.empty() && is_sparse(number_in(directory_word(hash))) && join(hash, all)) continue;
  }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::size_t bytes() const noexcept;

 private:
  static constexpr std::size_t ways = 10;
  static constexpr std::size_t buckets = 128;
  static constexpr std::size_t fewest_to_split = buckets * ways * 9 / 16;
  static constexpr std::size_t most_to_split = buckets * ways * 7 / 8;
  static constexpr std::size_t most_to_join = buckets * ways * 3 / 40;  ///< of each half: more would cost more than they give back
  static constexpr unsigned most_bits = 22;                             ///< leading bits of the hash that choose a segment
  static constexpr unsigned always_bits = 16;                           ///< that a segment may have however few there are
  static constexpr unsigned beyond_chance = 4;     ///< bits that a segment may have above those of evenly spread hashes
  static constexpr std::size_t small_table = 32;   ///< segments that lie by themselves
  static constexpr std::size_t looked_ahead = 32;  ///< names: about as many lines as a CPU waits for at once

  struct alignas(64) bucket {
    std::array<std::uint16_t, ways> tags{};  ///< 0: empty
    std::uint16_t passed_on = 0;             ///< entries that went on to a later bucket: four counts of four bits, by two bits of the tag
    std::uint16_t guests = 0;                ///< bit per way: an entry from an earlier bucket; and whether one has `come_far`
    std::array<std::uint32_t, ways> places{};

    static constexpr unsigned come_far = 1U << ways;  ///< some guest found more than one bucket full

    void clear(std::size_t way) noexcept {
      tags[way] = 0;
      if (guests == 0) return;
      const unsigned others = guests & ~(1U << way);
      guests = static_cast<std::uint16_t>(others == come_far ? 0 : others);
    }
    /// Marks an entry that came here after so many full buckets.
    void welcome(std::size_t way, std::size_t full) noexcept {
      guests = static_cast<std::uint16_t>(guests | 1U << way | (full > 1 ? come_far : 0U));
    }
    /// The bits of `passed_on` that count entries with such a tag.
    static constexpr unsigned count_of(std::uint16_t tag) noexcept { return 0xFU << ((tag & 6U) << 1); }
    /// Whether an entry with this tag may have gone on to a later bucket.
    [[nodiscard]] bool has_passed_on(std::uint16_t tag) const noexcept { return (passed_on >> ((tag & 6U) << 1) & 0xFU) != 0; }
    void pass_on(std::uint16_t tag) noexcept {
      const unsigned count = count_of(tag);
      if ((passed_on & count) != count) passed_on = static_cast<std::uint16_t>(passed_on + (count & 0x1111U));
    }
    /// One that went on is there no longer. A count that has come to its end stays there until the segment divides.
    void take_back(std::uint16_t tag) noexcept {
      const unsigned count = count_of(tag);
      if ((passed_on & count) != count) passed_on = static_cast<std::uint16_t>(passed_on - (count & 0x1111U));
    }
    /// One bit for each way whose tag is this one; all ways at once.
    [[nodiscard]] unsigned ways_with(std::uint16_t tag) const noexcept {
#if defined(__SSE2__)
      const auto* const line = reinterpret_cast<const __m128i*>(this);  // the second load goes on behind the tags, within the line
      const __m128i wanted = _mm_set1_epi16(static_cast<short>(tag));
      const __m128i first = _mm_cmpeq_epi16(_mm_load_si128(line), wanted);
      const __m128i last = _mm_cmpeq_epi16(_mm_load_si128(line + 1), wanted);
      return static_cast<unsigned>(_mm_movemask_epi8(_mm_packs_epi16(first, last))) & ((1U << ways) - 1);
#else
      unsigned found = 0;
      for (unsigned way = 0; way < ways; ++way) found |= static_cast<unsigned>(tags[way] == tag) << way;
      return found;
#endif
    }
  };
  static_assert(sizeof(bucket) == 64 && offsetof(bucket, tags) == 0);
  /// At the beginning of a page of memory, so that a directory word has room beside its address.
  struct alignas(4096) segment {
    std::array<bucket, buckets> lines;

    [[nodiscard]] bucket& operator[](std::size_t at) noexcept { return lines[at]; }
    [[nodiscard]] const bucket& operator[](std::size_t at) const noexcept { return lines[at]; }
  };

  /// What is known of a segment beside its entries.
  struct segment_count {
    std::int16_t room = 0;   ///< entries it takes before it divides; below 0 where it got more from another that divided
    std::uint16_t bits = 0;  ///< leading bits of the hash that all entries share
  };
  /// Number, address and tag window of a segment in one word: user addresses have 48 bits, of which segments leave the last twelve free.
  /// From the top: 22 bits of the number, 36 of the address, 6 of the window.
  static constexpr unsigned window_bits = 6;
  static constexpr std::uint64_t window_mask = (1U << window_bits) - 1;
  static constexpr unsigned address_bits = 48;
  static constexpr std::uint64_t address_mask = (std::uint64_t{1} << address_bits) - alignof(segment);
  static constexpr unsigned number_at = 64 - most_bits;
  static_assert(number_at == address_bits - window_bits && alignof(segment) == std::size_t{1} << 2 * window_bits);
  static constexpr unsigned window_step = 4;

  static std::uint64_t word_for(std::size_t number, const segment* at, unsigned window) noexcept {
    return std::uint64_t{number} << number_at | reinterpret_cast<std::uintptr_t>(at) >> window_bits | window;
  }
  static std::size_t number_in(std::uint64_t word) noexcept {
    return static_cast<std::size_t>(word >> number_at);
  }

  /// How many leading bits of the hash the tags of a segment leave out, which has `bits` in common.
  static constexpr unsigned window_of(unsigned bits) noexcept {
    return bits / window_step * window_step;
  }
  static std::uint16_t tag_of(std::uint64_t hash, std::uint64_t window) noexcept {
    return static_cast<std::uint16_t>(hash << window >> 48 | 1U);  // never 0; the last bit never divides
  }

  /// The bucket of a hash in its segment, by bits that give the distance of its line in bytes as they stand.
  static constexpr std::size_t home_of(std::uint64_t hash) noexcept {
    return hash / sizeof(bucket) % buckets;
  }
  /// Where an entry goes on that found bucket `at` full: by steps of its own, any odd number, so that full buckets do not fill their
  /// neighbours.
  static std::size_t bucket_behind(std::size_t at, std::uint16_t tag) noexcept {
    return (at + (tag >> 4 | 1U)) % buckets;
  }
  static std::size_t bucket_before(std::size_t at, std::uint16_t tag) noexcept {
    return (at - (tag >> 4 | 1U)) % buckets;
  }

  [[nodiscard]] std::uint64_t directory_word(std::uint64_t hash) const noexcept {
    return directory_[static_cast<std::size_t>(hash >> shift_)];
  }
  static segment& address_in(std::uint64_t word) noexcept {
    return *reinterpret_cast<segment*>(word << window_bits & address_mask);
  }
  [[nodiscard]] segment& segment_of(std::uint64_t hash) const noexcept {
    return address_in(directory_word(hash));
  }
  [[nodiscard]] segment_count& count_of(std::uint64_t hash) noexcept {
    return counts_[number_in(directory_word(hash))];
  }
  /// How many entries segment `number` takes. Not the same for all, which would all be nearly full at one time, and slow, and half empty at
  /// another.
  static constexpr std::size_t limit_of(std::size_t number) noexcept {
    return fewest_to_split + ((number * 0x9E37 & 0xFFFF) * (most_to_split - fewest_to_split) >> 16);
  }
  static void put(segment& into, std::size_t home, std::uint16_t tag, std::uint32_t place) noexcept;
  /// Where some names belong, as long as no segment divides.
  struct targets {
    std::array<bucket*, looked_ahead> lines;
    std::array<std::uint16_t, looked_ahead> tags;
    std::array<std::uint32_t, looked_ahead> numbers;  ///< of their segments
  };
  void aim(std::span<const engine_hash> names, name_hasher hash_of, targets& at) const noexcept;
  template <class Use>
  void each_in_turn(std::span<const engine_hash> names, name_hasher hash_of, Use use) const noexcept;
  void expect_next_line(std::uint64_t hash, std::uint16_t tag) const noexcept {
    bring_near(&segment_of(hash)[bucket_behind(home_of(hash), tag)]);
  }
  /// The way of a line that has a tag and a place; `ways` when there is none.
  static std::size_t way_of(const bucket& line, std::uint16_t tag, std::uint32_t place) noexcept;
  [[nodiscard]] bool add_unmistakable(std::uint64_t hash, std::uint32_t place) noexcept;
  class division;
  /// Whether a segment may be told from others by one more bit: a directory has two words for each bit of the deepest.
  [[nodiscard]] bool may_deepen(unsigned bits) const noexcept {
    const unsigned by_chance = static_cast<unsigned>(std::bit_width(counts_.size()));
    return bits < always_bits || (bits < most_bits && bits < by_chance + beyond_chance);
  }
  [[nodiscard]] bool divide(std::uint64_t hash, const named_records& all);
  [[nodiscard]] std::size_t entries_of(std::size_t number) const noexcept {
    return limit_of(number) - static_cast<std::size_t>(std::ptrdiff_t{counts_[number].room});
  }
  [[nodiscard]] bool is_sparse(std::size_t number) const noexcept {
    return entries_of(number) <= most_to_join;
  }
  /// False when the other half is not sparse, or divided further, or the segment is the only one.
  [[nodiscard]] bool join(std::uint64_t hash, const named_records& all);
  /// A word for the directory.
  [[nodiscard]] std::uint64_t new_segment(unsigned bits, std::uint32_t prefix);
  [[nodiscard]] segment* room_for_segment(std::size_t number);
  /// Enters a segment in the directory wherever it stands.
  void point_to(std::uint64_t word) noexcept;
  void drop_segment(std::uint64_t word);
  void halve_directory();

  /// On large pages as well: where the heap takes new memory for one, each page of it waits for the system when it is touched first.
  template <class Element>
  using list = std::vector<Element, arena_allocator<Element, arena_kind::names>>;
  list<std::uint64_t> directory_;  ///< by the leading bits, at least one; a segment with fewer bits stands in several places
  unsigned shift_ = 63;            ///< of a hash, to its leading bits
  list<segment_count> counts_;     ///< by number of the segment
  list<std::uint32_t> prefixes_;   ///< by number: the leading bits that its entries share
  std::array<std::uint32_t, most_bits + 1> with_bits_{};  ///< how many segments share so many bits
  std::vector<std::unique_ptr<segment>> first_segments_;  ///< of a small table
  std::vector<large_page> pages_;                         ///< of a large one
  std::size_t size_ = 0;
};

template <class IsIt>
bool name_table::find(std::uint64_t hash, IsIt is_it) const {
  if (directory_.empty()) return false;
  const std::uint64_t word = directory_word(hash);
  const segment& in = address_in(word);
  const std::uint16_t tag = tag_of(hash, word & window_mask);
  for (std::size_t i = 0, at = home_of(hash); i < buckets; ++i, at = bucket_behind(at, tag)) {
    const bucket& line = in[at];
    for (unsigned rest = line.ways_with(tag); rest != 0; rest &= rest - 1) {
      if (is_it(line.places[static_cast<std::size_t>(std::countr_zero(rest))])) return true;
    }
    if (!line.has_passed_on(tag)) return false;
  }
  return false;
}

}  // namespace kvc::core
