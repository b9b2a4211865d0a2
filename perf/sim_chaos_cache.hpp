// What one rank of a chaos publisher holds, which batches said so, and what an index may believe that has missed some of them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <vector>

#include "perf/sim_chaos_text.hpp"

namespace kvc::sim {

/// Batches of one incarnation of a publisher that a conductor may never get, whatever it does.
struct chaos_losses {
  bool anything = false;  ///< what is lost cannot be told apart: there is nobody to ask again
  std::set<std::uint64_t> numbers;

  [[nodiscard]] bool may_include(std::uint64_t number) const { return anything || numbers.contains(number); }
  [[nodiscard]] bool is_empty() const { return !anything && numbers.empty(); }
};

/// One rank's blocks on two media, told apart by place: 0 is the medium of the registration.
///
/// A naive cache: copies are counted one by one where the publisher counts them, anything may be removed at any time, and nothing follows
/// from anything else. Thread-safety: none; one owner.
class chaos_cache {
 public:
  static constexpr std::size_t places = 2;
  using place_mask = unsigned;
  static constexpr place_mask everywhere = 3;

  chaos_cache(std::size_t blocks, bool counts_copies) : counts_copies_(counts_copies), blocks_(blocks) {}

  [[nodiscard]] std::uint32_t copies(std::uint32_t block, std::size_t place) const { return blocks_[block].copies[place]; }
  [[nodiscard]] bool holds(std::uint32_t block, place_mask where = everywhere) const;
  /// The same of copies that are told of by the block's own name.
  [[nodiscard]] bool owns(std::uint32_t block, place_mask where = everywhere) const;

  // Each under the number of the batch that tells of it.
  void store(std::uint32_t block, std::size_t place, std::uint64_t number);
  void remove(std::uint32_t block, place_mask where, std::uint64_t number);
  void clear(place_mask where, std::uint64_t number);
  /// Place 1 has the block as part of something larger, of which all of these batches had to tell.
  void cover(std::uint32_t block, std::span<const std::uint64_t> numbers);
  /// The block is on just these places, one copy each.
  void move(std::uint32_t block, place_mask to, std::uint64_t number);

  /// How deep a prompt may be held by the account of an index.
  struct bounds {
    std::uint32_t least = 0;
    std::uint32_t most = 0;
  };

  /// How an index may differ from the truth.
  struct doubts {
    const chaos_losses* losses = nullptr;  ///< it may have missed these: a block any of them spoke of may be there or not; null: none
    bool drops_stale = false;              ///< it may have given up everything that was said before the last of them
    bool only_less = false;                ///< it may hold less, but nothing that is not there
    bool is_of_two_lives = false;          ///< it may have kept what another life of the publisher held, and nobody knows any more
  };

  /// The leading blocks held, each on one of the places.
  [[nodiscard]] bounds depth(const chaos_text::path& prompt, place_mask where, const doubts& about) const;

  /// How many blocks are held on a place.
  [[nodiscard]] std::uint64_t held_on(std::size_t place) const;

  /// Whether place 0 was ever cleared.
  [[nodiscard]] bool was_cleared() const noexcept { return was_cleared_; }

 private:
  struct entry {
    std::array<std::uint32_t, places> copies{};
    bool is_covered = false;
    std::vector<std::uint64_t> told;  ///< numbers of the batches that spoke of the block, the oldest of them first
  };

  bool counts_copies_;
  bool was_cleared_ = false;
  std::vector<entry> blocks_;
};

}  // namespace kvc::sim
