// Which parts make up a block of a store: told by keys and registrations, or learned from all parts that have been seen.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>
#include <boost/unordered/unordered_flat_set.hpp>

#include "core/pool_key.hpp"
#include "core/spread.hpp"

namespace kvc::core {

/// The layouts of one store: sets of parts, one for each kind of writer (form of key, prefix, group ...).
///
/// Story: most keys tell which part of a block an object is and not how many there are, so that the first part looks like all of it. A
/// block must not count before all of it is there, so a layout is *sure* only when the number is registered, or is in the keys, or when no
/// further part has been seen for `settle` since the last new one; until then, and again from every new part on, none of its blocks counts.
/// Parts are not unlearned while blocks are left, since those may be all that is left of them: only `forget` does that, and where there are
/// `max_layouts` one that nobody uses gives way. Pure; one owner. Bounds: `max_layouts`, and `max_parts` each; a layout with more is never
/// sure.
class pool_layouts {
 public:
  using time_point = std::chrono::steady_clock::time_point;
  using number = std::uint16_t;
  static constexpr std::size_t max_layouts = 256;
  static constexpr std::size_t max_parts = 16'384;
  static constexpr number none = 0xFFFF;

  struct options {
    std::uint32_t shards = 0;                 ///< objects that make up a block, as registered; 0: not told
    std::chrono::milliseconds settle{1'000};  ///< how long no new part may come before those seen are taken for all; 0: at once
  };

  explicit pool_layouts(options with) : options_(with) {}

  /// The number of a layout. `kind` tells writers apart; `ranks` as in pool_key. `none` when there are too many. It means the same until
  /// its last use has ended.
  [[nodiscard]] number find(std::uint64_t kind, bool has_parts, std::uint32_t ranks);

  /// There is one more block of the layout, or one less.
  void begin_use(number which) noexcept { ++layouts_[which].users; }
  void end_use(number which) noexcept { --layouts_[which].users; }

  /// A part was seen. True when that changes `needed`.
  [[nodiscard]] bool see(number which, const block_part& part, time_point now);

  /// How many different objects a block must have; 0: that is not sure.
  [[nodiscard]] std::uint32_t needed(number which) const noexcept { return layouts_[which].needed; }

  /// True when that makes a layout sure.
  [[nodiscard]] bool pass_time(time_point now);
  /// Layouts of which further parts are waited for.
  [[nodiscard]] std::size_t unsettled() const noexcept;

  void forget();

 private:
  struct layout {
    boost::unordered_flat_set<std::uint64_t, number_spread> parts;
    boost::unordered_flat_set<std::uint32_t, number_spread> ranks_seen;  ///< where keys tell how many there are
    std::uint64_t kind = 0;
    std::size_t users = 0;
    std::uint32_t ranks = 0;
    std::uint32_t needed = 0;
    bool has_parts = false;
    bool has_finer_parts = false;  ///< layers, halves: the ranks are not all
    bool is_settled = false;
    time_point grown{};
  };

  [[nodiscard]] std::uint32_t needed_of(const layout& which) const noexcept;

  options options_;
  std::vector<layout> layouts_;
  boost::unordered_flat_map<std::uint64_t, number> numbers_;
};

}  // namespace kvc::core
