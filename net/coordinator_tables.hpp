// Everything the fleet coordinator knows, in one place, on one lane.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "core/blend_table.hpp"
#include "core/evictor.hpp"
#include "core/incarnation_fence.hpp"
#include "core/mp_registry.hpp"
#include "core/quota.hpp"
#include "core/resync_fsm.hpp"
#include "core/seqno_watch.hpp"
#include "core/usage.hpp"
#include "net/coordinator_settings.hpp"

namespace kvc::net {

/// Figures since the start, all rising, that no table keeps by itself.
struct coordinator_counters {
  std::uint64_t registrations = 0;
  std::uint64_t re_registrations = 0;
  std::uint64_t deregistrations = 0;
  std::uint64_t timed_out = 0;  ///< servers that fell silent
  std::uint64_t heartbeats = 0;
  std::uint64_t unknown_heartbeats = 0;
  std::uint64_t cycles_alone = 0;      ///< of eviction, without a server
  std::uint64_t cycles_held_back = 0;  ///< of eviction, as servers were busy with deletions
  std::uint64_t keys_sent = 0;         ///< for deletion
  std::uint64_t deletions_sent = 0;    ///< requests
  std::uint64_t deletions_failed = 0;  ///< requests
  std::uint64_t prefetches = 0;
  std::uint64_t prefetches_failed = 0;
  std::uint64_t resync_bad_entries = 0;
};

/// What bounds the ledger: the number of keys, and memory enough for as many, whose hashes may be longer than their records hold.
[[nodiscard]] inline core::usage_ledger::limits ledger_limits(const coordinator_settings& settings) {
  constexpr std::size_t bytes_per_key = 128;
  core::usage_ledger::limits bounds;
  bounds.keys = settings.max_keys;
  bounds.bytes = std::max(bounds.bytes, settings.max_keys * bytes_per_key);
  return bounds;
}

/// The tables. Lane: the coordinator's home lane, all of it; work on it is done in slices of well under a millisecond.
struct coordinator_tables {
  /// `secret`: random bits that spread the blend table.
  coordinator_tables(const coordinator_settings& settings, std::uint64_t secret)
      : servers({.timeout = as_duration(settings.instance_timeout)}),
        usage(ledger_limits(settings)),
        evictions(usage, quotas,
                  {.ratio = settings.eviction_ratio, .watermark = settings.trigger_watermark, .unit = settings.eviction_unit}),
        blend({.chunk_tokens = settings.blend_chunk_size, .most_chunks = settings.blend_max_chunks, .seed = secret}) {}
  coordinator_tables(const coordinator_tables&) = delete;
  coordinator_tables& operator=(const coordinator_tables&) = delete;

  core::mp_registry servers;
  core::quota_table quotas;
  core::usage_ledger usage;
  core::evictor evictions;  ///< refers to the two before it
  core::seqno_watch seqnos;
  core::incarnation_fence fence;
  core::blend_table blend;
  core::resync_fsm::phase resync = core::resync_fsm::phase::complete;  ///< of the start-up listing; complete when there is none
  std::uint64_t resync_pages = 0;
  std::uint64_t resync_servers_failed = 0;
  coordinator_counters counters;

  [[nodiscard]] bool holds_eviction() const noexcept {
    return resync == core::resync_fsm::phase::waiting || resync == core::resync_fsm::phase::listing;
  }
};

}  // namespace kvc::net
