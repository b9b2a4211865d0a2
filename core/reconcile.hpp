// What is different between what is known of an object and what its store says.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/medium.hpp"
#include "core/replica.hpp"

namespace kvc::core {

/// The ways in which a store's events leave out what happened (store-prefetch.md, "Tier truth").
enum class difference : std::uint8_t {
  appeared,    ///< we did not know the object
  vanished,    ///< it is gone: removed silently, or its segment or client was lost
  promoted,    ///< it is in memory, and was not
  offloaded,   ///< it is on a disk, and was not
  evicted,     ///< it is in memory no more
  disk_lost,   ///< it is on a disk no more
  other_disk,  ///< the disk is of the other kind
  in_flight,   ///< a put or a promotion has begun, or come to nothing
};
inline constexpr std::size_t difference_count = 8;
inline constexpr std::array<std::string_view, difference_count> difference_names{"appeared", "vanished",  "promoted",   "offloaded",
                                                                                 "evicted",  "disk_lost", "other_disk", "in_flight"};

/// All differences of one object, and what they mean for its block in the index.
struct reconciliation {
  std::uint8_t found = 0;  ///< bit per `difference`
  media_mask gained = 0;   ///< media on which the block is now
  media_mask lost = 0;     ///< media on which it is not any more

  [[nodiscard]] constexpr bool has(difference which) const noexcept { return (found >> static_cast<unsigned>(which) & 1U) != 0; }
};

/// The media on which an object's block counts: complete replicas only. Pure.
[[nodiscard]] constexpr media_mask media_of(replica_set replicas) noexcept {
  using enum replica_kind;
  media_mask media = 0;
  if (replicas.has(memory, replica_state::complete)) media = mask_of(medium_id::cpu);
  if (replicas.has(disk, replica_state::complete) || replicas.has(local_disk, replica_state::complete)) {
    media = static_cast<media_mask>(media | mask_of(medium_id::disk));
  }
  return media;
}

/// Compares. Where a copy lies makes no difference, only on what. Pure.
[[nodiscard]] constexpr reconciliation reconcile(replica_set known, replica_set truth) noexcept {
  using enum replica_kind;
  reconciliation result;
  const auto note = [&result](difference which) {
    result.found = static_cast<std::uint8_t>(result.found | 1U << static_cast<unsigned>(which));
  };
  if (known == truth) return result;
  const media_mask before = media_of(known);
  const media_mask after = media_of(truth);
  result.gained = static_cast<media_mask>(after & ~before);
  result.lost = static_cast<media_mask>(before & ~after);
  constexpr replica_set nothing;
  if (truth == nothing) {
    note(difference::vanished);
    return result;
  }
  if (known == nothing) {
    note(difference::appeared);
    return result;
  }
  if ((result.gained & mask_of(medium_id::cpu)) != 0) note(difference::promoted);
  if ((result.lost & mask_of(medium_id::cpu)) != 0) note(difference::evicted);
  if ((result.gained & mask_of(medium_id::disk)) != 0) note(difference::offloaded);
  if ((result.lost & mask_of(medium_id::disk)) != 0) note(difference::disk_lost);
  const bool is_same_disk = known.has(disk, replica_state::complete) == truth.has(disk, replica_state::complete) &&
                            known.has(local_disk, replica_state::complete) == truth.has(local_disk, replica_state::complete);
  const bool has_disk = ((before & after) & mask_of(medium_id::disk)) != 0;
  if (has_disk && !is_same_disk) note(difference::other_disk);
  if (result.found == 0) note(difference::in_flight);
  return result;
}

}  // namespace kvc::core
