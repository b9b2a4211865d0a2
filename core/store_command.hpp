// What is asked of a worker's reverse map, and what it answers: stretches of blocks to store, and counts of what changed.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "core/catalog.hpp"
#include "core/ids.hpp"
#include "core/medium.hpp"

namespace kvc::core {

/// How a store says where its first block stands.
enum class store_link : std::uint8_t {
  root,      ///< at position 0
  parent,    ///< behind the block that `parent` names
  standard,  ///< the names are the partition's own sequence hashes, so they say it themselves
  placed,    ///< the blocks' sequence hashes come with their names
  by_name,   ///< not at all: the names must be known from other events (a copy on another medium)
};

/// Consecutive blocks of one chain, ready for the index. Views live during the call.
struct store_command {
  std::shared_ptr<partition> home;
  medium_id medium{};
  store_link link = store_link::root;
  engine_hash parent{};  ///< for store_link::parent
  std::span<const engine_hash> names;
  std::span<const local_hash> locals;     ///< as many as names for root and parent; empty otherwise
  std::span<const seq_hash> blocks = {};  ///< as many as names for placed; empty otherwise
};

/// What calls changed; added up by the caller.
struct apply_tally {
  std::uint64_t stored = 0;             ///< blocks newly held on a medium
  std::uint64_t repeated = 0;           ///< stores of what was held already (a further copy, or a refresh)
  std::uint64_t moved = 0;              ///< names that now mean another block
  std::uint64_t removed = 0;            ///< blocks no longer held on a medium
  std::uint64_t unknown_removals = 0;   ///< removals of names that are not known on that medium
  std::uint64_t orphaned = 0;           ///< blocks whose place is not known yet
  std::uint64_t joined = 0;             ///< orphans whose place became known
  std::uint64_t dropped_orphans = 0;    ///< orphans given up because of the bound, or by eviction
  std::uint64_t skipped = 0;            ///< blocks an event carried that cannot be indexed
  std::uint64_t beyond_partitions = 0;  ///< blocks and objects left out because their worker had no room for another partition
  std::uint64_t beyond_owners = 0;      ///< the same because their stream had none for another rank or backend
  std::uint64_t beyond_pages = 0;       ///< blocks of another size than registered left out because there was no room for more of them
  std::uint64_t reblocked_pages = 0;    ///< blocks of another size than registered that were taken apart or joined
  std::uint64_t reblocked = 0;          ///< blocks of the registered size that were made of them
  std::uint64_t uncounted = 0;          ///< blocks stored in groups that cannot answer for a prefix
  std::uint64_t unplaced = 0;           ///< events about objects whose blocks nothing names
  std::uint64_t whole_clears = 0;       ///< of all that the stream may ever have held, behind which it held nothing

  void add(const apply_tally& other) noexcept;
};

}  // namespace kvc::core
