// From levels to the instances a router wants to see: the deepest few, or those that reach deep enough, without looking at the others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "core/match.hpp"
#include "core/member_map.hpp"
#include "core/slot_table.hpp"

namespace kvc::core {

/// Which instances are to be chosen.
struct fold_bounds {
  static constexpr std::size_t any_number = std::numeric_limits<std::size_t>::max();

  std::uint64_t least = 0;               ///< blocks; instances that reach less are left out. 0: also those that hold nothing
  std::size_t most = any_number;         ///< that many instances at most, the deepest, then the first by name
  std::span<const std::uint8_t> wanted;  ///< by number of the instance: 0 leaves it out; empty: all are wanted
};

/// An instance as deep as the deepest of its members.
struct instance_reach {
  std::uint32_t instance = 0;  ///< index into member_map::instances
  std::uint32_t depth = 0;     ///< blocks

  friend bool operator==(const instance_reach&, const instance_reach&) = default;
};

/// Chooses instances by the levels of a query.
///
/// Story: levels are gone through from the deepest upwards, and a slot is only then looked up when its level is. Once enough instances are
/// seen, and all others of the same depth with them, the rest cannot matter: but for members of chosen instances that reach less deep,
/// which are then looked for. The answer is the one that sorting all instances would give. Belongs to one thread; reused from query to
/// query for its memory. Inside the quiescent scope in which the levels were found.
class level_fold {
 public:
  /// `chosen`: by descending depth, then name, where `bounds.most` left an instance out, else by name. `rows`: the members of the chosen
  /// instances that hold the first block, by ascending worker. The reaches and levels of `levels` are reordered.
  /// Preconditions: each slot stands for itself (prefix_index::match found levels), so no member is a pool; with `bounds.least` 0,
  /// `bounds.most` is less than the number of wanted instances, as otherwise there is nothing to choose.
  void run(const slot_table& slots, const member_map& members, match_levels& levels, const fold_bounds& bounds,
           std::vector<instance_reach>& chosen, match_result& rows);

 private:
  /// A member that was looked up.
  struct reached {
    worker_id worker{};
    std::uint32_t instance = 0;
    std::uint32_t depth = 0;
    medium_id medium{};
  };

  void descend(const slot_table& slots, const member_map& members, match_levels& levels, const fold_bounds& bounds,
               std::vector<instance_reach>& chosen);
  void choose(const member_map& members, const fold_bounds& bounds, std::vector<instance_reach>& chosen);
  void find_other_members(const slot_table& slots, const member_map& members, const match_levels& levels);

  std::vector<std::uint8_t> has_member_;  ///< by member: it is in reached_
  std::vector<std::uint8_t> instances_;   ///< by instance: see the source
  std::vector<reached> reached_;
  std::size_t levels_left_ = 0;   ///< not yet gone through: the first so many
  std::size_t reaches_left_ = 0;  ///< a heap, the deepest first
  std::size_t missing_ = 0;       ///< members of chosen instances that are not in reached_
};

}  // namespace kvc::core
