// One copy of a store's object: what it lies on, where, and whether it is all there yet.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/medium.hpp"

namespace kvc::core {

/// What a store keeps a copy on. The store's own words, which are finer than tiers: from a `local_disk` it can bring a copy to memory, from
/// a `disk` in the older sense it cannot (store-prefetch.md, "POST /exist").
enum class replica_kind : std::uint8_t { memory, disk, local_disk };
inline constexpr std::size_t replica_kinds = 3;
inline constexpr std::array<std::string_view, replica_kinds> replica_kind_names{"memory", "disk", "local_disk"};

/// What a store's word for a medium means, which is folded to `medium` for everybody else. `disk` alone is the older kind only where the
/// publisher tells the two kinds apart; others say it of both, and then it is taken for the one that can be promoted: whoever promotes
/// reads from the store what it really is. Pure.
[[nodiscard]] constexpr replica_kind replica_kind_of(std::string_view word, medium_id medium, bool tells_disks_apart) noexcept {
  if (medium == medium_id::gpu || medium == medium_id::cpu) return replica_kind::memory;
  if (word == "local_disk" || word == "LOCAL_DISK") return replica_kind::local_disk;
  return medium == medium_id::disk && !tells_disks_apart ? replica_kind::local_disk : replica_kind::disk;
}

/// `in_flight`: a put or a promotion is still writing it.
enum class replica_state : std::uint8_t { complete, in_flight };

/// Which kinds of replicas in which states an object has.
class replica_set {
 public:
  constexpr replica_set() = default;

  constexpr void add(replica_kind kind, replica_state state) noexcept { bits_ = static_cast<std::uint8_t>(bits_ | bit(kind, state)); }
  [[nodiscard]] constexpr bool has(replica_kind kind, replica_state state) const noexcept { return (bits_ & bit(kind, state)) != 0; }
  [[nodiscard]] constexpr bool has_complete() const noexcept {
    return has(replica_kind::memory, replica_state::complete) || has(replica_kind::disk, replica_state::complete) ||
           has(replica_kind::local_disk, replica_state::complete);
  }

  friend bool operator==(replica_set, replica_set) = default;

 private:
  static constexpr std::uint8_t bit(replica_kind kind, replica_state state) noexcept {
    return static_cast<std::uint8_t>(1U << (static_cast<unsigned>(kind) * 2 + static_cast<unsigned>(state)));
  }
  std::uint8_t bits_ = 0;
};

}  // namespace kvc::core
