// What a probe for an object answers, and whether its copy should be brought to memory. (Source: store-prefetch.md, "POST /exist"; seed
// 002.)
#pragma once

#include <cstdint>

#include "core/replica.hpp"

namespace kvc::core {

/// What a probe that wants the object in memory leads to.
enum class prefetch_need : std::uint8_t {
  none,   ///< it is there, or nothing can bring it there
  join,   ///< it is on its way already
  start,  ///< a promotion from local disk would bring it there
};

/// What is said and done about one key.
struct exist_decision {
  bool exists = false;
  prefetch_need need = prefetch_need::none;

  friend bool operator==(const exist_decision&, const exist_decision&) = default;
};

/// The table, in its order: nothing complete; a complete copy in memory; one being written there; a complete one on local disk; else only
/// disks that cannot be promoted from. Without `wants_prefetch` only existence is decided. Pure.
[[nodiscard]] constexpr exist_decision decide_exist(replica_set replicas, bool wants_prefetch) noexcept {
  using enum replica_kind;
  using enum replica_state;
  if (!replicas.has_complete()) return {};
  if (!wants_prefetch || replicas.has(memory, complete)) return {true, prefetch_need::none};
  if (replicas.has(memory, in_flight)) return {true, prefetch_need::join};
  return {true, replicas.has(local_disk, complete) ? prefetch_need::start : prefetch_need::none};
}

}  // namespace kvc::core
