// What publishers say, after the wire words are gone: stored, removed, cleared, or about an object; in batches under one seqno.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/event_counts.hpp"
#include "core/ids.hpp"
#include "core/medium.hpp"
#include "core/replica.hpp"

namespace kvc::core {

/// The dimensions an event may carry itself; what is absent is filled from the registration of its stream.
struct event_scope {
  std::optional<std::string> tenant;
  std::optional<std::string> model;
  std::optional<std::string> lora;  ///< present and empty: explicitly the base model
  std::optional<std::string> salt;
  std::uint32_t block_size = 0;  ///< tokens per block; 0: not said
  std::optional<medium_id> medium;
  std::optional<dp_rank> rank;
  std::optional<std::string> backend;   ///< what owns the blocks; a stream may speak for several
  std::string object_key;               ///< of a store: the object the blocks are kept in; empty: none
  std::optional<replica_kind> replica;  ///< of a store: what `medium` means to it; see `replica_kind_of`
  std::uint32_t group = 0;              ///< KV-cache group inside the engine; 0 is the first or only one
  bool prefix_complete = true;          ///< false for groups (sliding window, mamba ...) that cannot answer for a whole prefix
  bool takes_kind_of_group = false;     ///< of a store: it names its group and no kind, so what is known of the group decides
  bool names_span_groups = false;       ///< a name means the same block in every group, as the standard's do: the event is of its form

  friend bool operator==(const event_scope&, const event_scope&) = default;
};

/// Whether a partition has all dimensions that an event names. `any_size`: the size of blocks says nothing about the partition.
[[nodiscard]] inline bool is_in_scope(const partition_key& key, const event_scope& scope, bool any_size = false) noexcept {
  return (!scope.tenant || *scope.tenant == key.tenant) && (!scope.model || *scope.model == key.model) &&
         (!scope.lora || *scope.lora == key.lora) && (!scope.salt || *scope.salt == key.salt) &&
         (any_size || scope.block_size == 0 || scope.block_size == key.block_size);
}

/// Consecutive blocks of one chain were committed.
struct stored_event {
  event_scope scope;
  std::vector<engine_hash> hashes;      ///< one name per block, in order
  std::optional<engine_hash> parent;    ///< name of the block before the first
  std::optional<position> base;         ///< position of the first block, when the publisher tells
  std::vector<std::uint32_t> tokens;    ///< all blocks' tokens in order; may be empty
  std::vector<local_hash> locals;       ///< in place of `tokens`, which then are empty: every block's hash, made while they were read
  bool has_tokens = false;              ///< false: the event had none (a placeholder, or a publisher on the standard hash)
  bool standard_hashes = false;         ///< the names are rolling sequence hashes of the standard, so they identify the blocks
  std::vector<std::string> extra_keys;  ///< per block: canonical MessagePack bytes of its keys, "" for none; may be shorter
};

/// Blocks were evicted from one medium.
struct removed_event {
  event_scope scope;
  std::vector<engine_hash> hashes;
  bool all_media = false;  ///< the publisher names a medium but means every one of them
};

/// Everything the stream's worker held on a medium is gone; without a medium, see event_applier.
struct cleared_event {
  event_scope scope;
};

/// One copy of a store's object.
struct object_replica {
  medium_id medium{};
  std::string location;  ///< endpoint or path, as the store names it
  replica_kind kind = replica_kind::memory;

  friend bool operator==(const object_replica&, const object_replica&) = default;
};

/// A store says where an object is. Which blocks that means is not in the event alone: whoever keeps the objects must tell.
struct object_event {
  enum class change : std::uint8_t {
    stored,   ///< it is there, on `replicas` if the event lists any, else on the scope's medium
    updated,  ///< it is on exactly these replicas now; none: it is gone
    removed,  ///< it is gone
  };

  event_scope scope;  ///< with `object_key`
  change what = change::stored;
  std::vector<object_replica> replicas;  ///< all of them, when the publisher lists them
  bool all_media = true;                 ///< removed: from everywhere, else from the scope's medium only
  std::optional<engine_hash> name;       ///< of the block in it, when the event tells
  std::optional<engine_hash> parent;
  std::vector<std::uint32_t> tokens;
};

using event = std::variant<stored_event, removed_event, cleared_event, object_event>;
static_assert(std::variant_size_v<event> == event_kind_count);

/// What one wire message carries.
struct event_batch {
  double timestamp_s = 0;       ///< publisher's clock, seconds since the epoch; informational
  std::optional<dp_rank> rank;  ///< rank the batch speaks for
  std::vector<event> events;
  std::uint32_t rejected_events = 0;  ///< events of this batch that could not be decoded and were left out
  std::uint32_t joined_events = 0;    ///< events that became part of the one before them, see `counts` for how many there were
  batch_counts counts;                ///< the same by reason, the others by dialect and kind, and words nobody knows
};

}  // namespace kvc::core
