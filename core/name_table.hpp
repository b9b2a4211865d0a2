// A compact hash table from fingerprints of names to where the names are written down; the names themselves are verified there.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "core/bring_near.hpp"
#include "core/large_page.hpp"

namespace kvc::core {

/// Where a name is written down: in which list, at which offset of it.
struct name_spot {
  std::uint32_t list = 0;    ///< below 2^28
  std::uint32_t offset = 0;  ///< below 2^12 (see max_run_blocks)

  friend bool operator==(const name_spot&, const name_spot&) = default;
};

/// A spot may also stand for a plain number, where what is found is a numbered record.
[[nodiscard]] constexpr name_spot spot_of_number(std::uint32_t number) noexcept { return {number >> 12, number & 0xFFF}; }
[[nodiscard]] constexpr std::uint32_t number_of(name_spot spot) noexcept { return spot.list << 12 | spot.offset; }

/// Spots by the 64-bit hash of their name. One cache line is touched per key.
///
/// Story: a bucket is a line: seven 8-bit tags and seven spots, and a count of entries that found it full and went on to the next one. A spot
/// keeps 24 bits of its hash besides, so that nothing has to be read elsewhere to move it, and a wrong candidate is rarely offered. Buckets
/// lie in segments of 256; a full segment is divided in two by one more leading bit of the hash, so that growth moves some 1,500 entries at
/// a time and never the whole table. What is counted per segment lies apart, where it stays near.
/// Lane: belongs to one lane.
class name_table {
 public:
  name_table();
  ~name_table();
  name_table(const name_table&) = delete;
  name_table& operator=(const name_table&) = delete;

  /// Brings the line of a hash near; to be called some keys ahead of the call that needs it.
  void prefetch(std::uint64_t hash) const noexcept {
    if (!directory_.empty()) bring_near(&segment_of(hash)[hash % buckets]);
  }

  /// The same for the line behind it, where the first one, which should be near by now, has been too full for all: one key in ten, but each
  /// would wait for memory alone.
  void prefetch_more(std::uint64_t hash) const noexcept {
    if (directory_.empty()) return;
    const segment& in = segment_of(hash);
    const bucket& line = in[hash % buckets];
    if (line.passed_on != 0 || line.ways_with(0) == 0) bring_near(&in[(hash + 1) % buckets]);
  }

  /// Calls `is_it(spot)` for the candidates of a hash until one is accepted. False when there is none.
  template <class IsIt>
  [[nodiscard]] bool find(std::uint64_t hash, IsIt is_it) const;

  /// Adds a spot. False when the table cannot grow any further (after some 100 million entries).
  [[nodiscard]] bool add(std::uint64_t hash, name_spot spot);

  /// Takes a spot out; nothing happens when it is not there.
  void remove(std::uint64_t hash, name_spot spot) noexcept;

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::size_t bytes() const noexcept;

 private:
  static constexpr std::size_t ways = 7;
  static constexpr std::size_t buckets = 256;
  static constexpr std::size_t split_above = buckets * ways * 7 / 8;
  static constexpr unsigned most_bits = 16;  ///< leading bits of the hash kept in a spot

  struct alignas(64) bucket {
    std::array<std::uint8_t, ways> tags{};  ///< 0: empty
    std::uint8_t passed_on = 0;             ///< entries that went on to a later bucket; 255: at least so many, for ever
    std::array<std::uint64_t, ways> spots{};

    /// One bit, 7 + 8 i, for each way i whose tag is this one; all ways at once.
    [[nodiscard]] std::uint64_t ways_with(std::uint8_t tag) const noexcept {
      std::uint64_t eight = 0;
      std::memcpy(&eight, tags.data(), sizeof eight);  // the eighth byte is passed_on
      constexpr std::uint64_t low = 0x7F7F'7F7F'7F7F'7F7F;
      const std::uint64_t differ = eight ^ tag * std::uint64_t{0x0101'0101'0101'0101};
      return ~(((differ & low) + low) | differ | low) & 0x0080'8080'8080'8080;
    }
  };
  using segment = std::array<bucket, buckets>;

  /// What is known of a segment beside its entries.
  struct segment_count {
    std::uint16_t used = 0;
    std::uint16_t bits = 0;  ///< leading bits of the hash that all entries share
  };
  /// Address and number of a segment in one word: user addresses have 48 bits.
  static constexpr unsigned address_bits = 48;
  static constexpr std::uint64_t address_mask = (std::uint64_t{1} << address_bits) - 1;

  static std::uint8_t tag_of(std::uint64_t hash) noexcept {
    const auto tag = static_cast<std::uint8_t>(hash >> 24);
    return tag == 0 ? std::uint8_t{1} : tag;
  }
  static std::uint64_t packed(std::uint64_t hash, name_spot spot) noexcept {
    return std::uint64_t{spot.list} << 36 | std::uint64_t{spot.offset} << 24 | (hash >> 48) << 8 | (hash & 0xFF);
  }
  static name_spot spot_of(std::uint64_t entry) noexcept {
    return {static_cast<std::uint32_t>(entry >> 36), static_cast<std::uint32_t>(entry >> 24 & 0xFFF)};
  }
  static constexpr std::uint64_t hash_mask = 0xFF'FFFF;

  [[nodiscard]] std::uint64_t directory_word(std::uint64_t hash) const noexcept {
    return directory_[bits_ == 0 ? 0 : static_cast<std::size_t>(hash >> (64 - bits_))];
  }
  static segment& address_in(std::uint64_t word) noexcept { return *reinterpret_cast<segment*>(word & address_mask); }
  [[nodiscard]] segment& segment_of(std::uint64_t hash) const noexcept { return address_in(directory_word(hash)); }
  [[nodiscard]] segment_count& count_of(std::uint64_t hash) noexcept { return counts_[directory_word(hash) >> address_bits]; }
  static void place(segment& into, std::uint8_t tag, std::uint64_t entry) noexcept;
  [[nodiscard]] bool divide(std::uint64_t hash);
  /// A word for the directory.
  [[nodiscard]] std::uint64_t new_segment(unsigned bits);

  std::vector<std::uint64_t> directory_;  ///< by the leading `bits_` bits; a segment with fewer bits stands in several places
  unsigned bits_ = 0;
  std::vector<segment_count> counts_;     ///< by number of the segment
  std::vector<std::unique_ptr<segment>> first_segments_;  ///< of a small table
  std::vector<large_page> pages_;                         ///< of a large one
  std::size_t size_ = 0;
};

template <class IsIt>
bool name_table::find(std::uint64_t hash, IsIt is_it) const {
  if (directory_.empty()) return false;
  const segment& in = segment_of(hash);
  const std::uint8_t tag = tag_of(hash);
  const std::uint64_t kept = packed(hash, {}) & hash_mask;
  for (std::size_t i = 0, at = hash % buckets; i < buckets; ++i, at = (at + 1) % buckets) {
    const bucket& line = in[at];
    for (std::uint64_t rest = line.ways_with(tag); rest != 0; rest &= rest - 1) {
      const std::uint64_t entry = line.spots[static_cast<std::size_t>(std::countr_zero(rest)) / 8];
      if ((entry & hash_mask) == kept && is_it(spot_of(entry))) return true;
    }
    if (line.passed_on == 0) return false;
  }
  return false;
}

}  // namespace kvc::core
