// What can happen to an object of a stand-in store, before anybody decides whether to tell of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/ids.hpp"
#include "core/replica.hpp"

namespace kvc::sim {

/// What a replica lies on. From a `local_disk` it can be brought back to memory, from a `disk` it cannot.
using store_medium = core::replica_kind;

struct store_replica {
  store_medium medium = store_medium::memory;
  bool is_complete = true;    ///< false while a put or a promotion is writing it
  std::uint32_t segment = 0;  ///< whose memory or SSD; of a disk, which all share, 0

  friend bool operator==(const store_replica&, const store_replica&) = default;
};

/// Those that are complete.
[[nodiscard]] std::vector<store_replica> complete_ones(const std::vector<store_replica>& among);

/// Where a replica is, as the store names it: endpoint of a segment, of a client's SSD, or a path.
[[nodiscard]] std::string store_location(const store_replica& replica, std::string_view key);

/// The block that an object is the state of. Shared by all that speak of it.
struct store_block {
  core::engine_hash name{};  ///< the standard's sequence hash
  std::optional<core::engine_hash> parent;
  std::vector<std::uint32_t> tokens;
};

/// One thing that happened. Only complete replicas are mentioned.
struct store_change {
  enum class kind : std::uint8_t {
    put,           ///< a put has ended
    evicted,       ///< it has left memory; `after` says whether it is still somewhere
    offloaded,     ///< it was copied to SSD
    promoted,      ///< it was copied from there to memory
    copied,        ///< one replica more
    moved,         ///< one in another place
    removed,       ///< it was deleted
    removed_all,   ///< everything was; no key
    segment_lost,  ///< its replica in a segment's memory is gone with it
    client_lost,   ///< those of a client are, SSD included
  };
  kind what = kind::put;
  std::string key;
  std::vector<store_replica> before = {};
  std::vector<store_replica> after = {};
  std::shared_ptr<const store_block> block = nullptr;
};
inline constexpr std::size_t store_change_kinds = 10;

}  // namespace kvc::sim
