// How a table of names grows and shrinks: segments divide in two, and two become one.
#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <vector>

#include "core/bring_near.hpp"
#include "core/name_table.hpp"

namespace kvc::core {

/// The entries of a segment on their way into one or two others. What a line tells of its own entries, and of those that come from the line
/// before, is enough where the tags know the bit that decides; the names of all others are asked for.
/// Some 25 kB, on the stack.
class name_table::division {
 public:
  /// `bits` lead the hashes of each half afterwards. The halves may be one segment.
  division(segment& low, segment& high, unsigned bits) : low_(low), high_(high), bits_(bits) {}

  /// Divides line `at` of the low half: its own entries go to the same line of either. Nothing could predict to which, so there is no jump:
  /// each is written to both, and overwritten where it does not count.
  /// Precondition: that of the high half is empty.
  void share_out(std::size_t at) {
    const unsigned deciding = 15 - (bits_ - 1) % window_step;
    bucket& low = low_[at];
    bucket& high = high_[at];
    const bucket line = low;
    bring_near(&low_[(at + lines_ahead) % buckets]);
    bring_near(&high_[(at + lines_ahead) % buckets]);
    low = bucket{};
    std::size_t lows = 0;
    std::size_t highs = 0;
    for (std::size_t way = 0; way < ways; ++way) {
      const std::uint16_t tag = line.tags[way];
      const unsigned counts = static_cast<unsigned>(tag != 0) & ~(unsigned{line.guests} >> way) & 1U;
      const unsigned is_high = tag >> deciding & 1U;
      low.tags[lows] = high.tags[highs] = tag;
      low.places[lows] = high.places[highs] = line.places[way];
      lows += counts & ~is_high;
      highs += counts & is_high;
    }
    if (lows != ways) low.tags[lows] = 0;
    if (highs != ways) high.tags[highs] = 0;
    moved_ += highs;
    const bool is_far = (line.guests & bucket::come_far) != 0;
    for (unsigned rest = line.guests & ~bucket::come_far; rest != 0; rest &= rest - 1) {
      const auto way = static_cast<std::size_t>(std::countr_zero(rest));
      const std::uint16_t tag = line.tags[way];
      if (is_far) {
        unknown_[unknowns_++] = line.places[way];
      } else {
        guests_[guests_count_++] = {.place = line.places[way],
                                    .tag = tag,
                                    .home = static_cast<std::uint8_t>(bucket_before(at, tag)),
                                    .side = (tag >> deciding & 1U) != 0};
      }
    }
  }

  /// Empties a segment, of which nothing is told but the places.
  void take_places(segment& from) {
    for (const bucket& line : from.lines) {
      for (std::size_t way = 0; way < ways; ++way) {
        unknown_[unknowns_] = line.places[way];
        unknowns_ += line.tags[way] != 0 ? 1 : 0;
      }
    }
    from = segment{};
  }

  /// Puts everything else where it belongs.
  void settle(const named_records& all) {
    for (const guest& each : std::span(guests_).first(guests_count_)) give(each.side, each.home, each.tag, each.place);
    const std::span<const std::uint32_t> unknown = std::span(unknown_).first(unknowns_);
    if (unknown.empty()) return;
    std::array<std::uint64_t, buckets * ways> hashes;
    all.hashes_at(unknown, hashes.data());
    for (std::size_t i = 0; i < unknown.size(); ++i) {
      const std::uint64_t hash = hashes[i];
      give(bits_ != 0 && (hash >> (64 - bits_) & 1) != 0, home_of(hash), tag_of(hash, window_of(bits_)), unknown[i]);
    }
  }

  /// How many entries are in the high half.
  [[nodiscard]] std::size_t moved() const noexcept { return moved_; }

 private:
  static constexpr std::size_t lines_ahead = 8;
  struct guest {
    std::uint32_t place;
    std::uint16_t tag;
    std::uint8_t home;
    bool side;
  };
  static_assert(buckets <= 256);

  void give(bool is_high, std::size_t home, std::uint16_t tag, std::uint32_t place) {
    const std::array<segment*, 2> halves{&low_, &high_};  // chosen without a jump, which nothing could predict
    put(*halves[is_high ? 1 : 0], home, tag, place);
    moved_ += is_high ? 1 : 0;
  }

  segment& low_;
  segment& high_;
  unsigned bits_;
  std::size_t moved_ = 0;
  std::size_t guests_count_ = 0;
  std::size_t unknowns_ = 0;
  std::array<guest, buckets * ways> guests_;               // not initialised
  std::array<std::uint32_t, buckets * ways + 1> unknown_;  // the same; the last may be written and not counted
};

bool name_table::divide(std::uint64_t hash, const named_records& all) {
  const std::uint64_t old_word = directory_word(hash);
  const std::size_t old_number = number_in(old_word);
  if (!may_deepen(counts_[old_number].bits)) return false;
  if (counts_[old_number].bits + shift_ == 64) {
    list<std::uint64_t> twice(directory_.size() * 2);
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
  segment& low = address_in(low_word);
  division parts(low, address_in(high_word), bits);
  if (bits % window_step == 0) {
    parts.take_places(low);
  } else {
    for (std::size_t at = 0; at < buckets; ++at) parts.share_out(at);
  }
  parts.settle(all);
  const auto add_room = [this](std::size_t number, std::ptrdiff_t more) {
    counts_[number].room = static_cast<std::int16_t>(counts_[number].room + more);
  };
  add_room(old_number, static_cast<std::ptrdiff_t>(parts.moved()));
  add_room(number_in(high_word), -static_cast<std::ptrdiff_t>(parts.moved()));
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
  division parts(low, low, bits - 1);
  parts.take_places(low);
  parts.take_places(address_in(high_word));
  counts_[low_number].room = static_cast<std::int16_t>(counts_[low_number].room - static_cast<int>(entries_of(high_number)));
  with_bits_[bits] -= 2;
  ++with_bits_[--counts_[low_number].bits];
  prefixes_[low_number] >>= 1;
  parts.settle(all);
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

/// As long as no segment needs all of its bits; one is kept. Names are forgotten here, which has to go on without memory: then what there
/// is will do.
void name_table::halve_directory() {
  for (; shift_ != 63 && with_bits_[64 - shift_] == 0; ++shift_) {
    list<std::uint64_t> half;
    try {
      half.resize(directory_.size() / 2);
    } catch (const std::bad_alloc&) {
      return;
    }
    for (std::size_t i = 0; i < half.size(); ++i) half[i] = directory_[2 * i];
    directory_.swap(half);
  }
}

}  // namespace kvc::core
