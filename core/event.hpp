// What publishers say, after the wire words are gone: stored, removed, cleared, in batches under one seqno.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/ids.hpp"
#include "core/medium.hpp"

namespace kvc::core {

/// The dimensions an event may carry itself; what is absent is filled from the registration of its stream.
struct event_scope {
  std::optional<std::string> tenant;
  std::optional<std::string> model;
  std::optional<std::string> lora;  ///< present and empty: explicitly the base model
  std::optional<std::string> salt;
  std::uint32_t block_size = 0;     ///< tokens per block; 0: not said
  std::optional<medium_id> medium;
  std::optional<dp_rank> rank;
  std::uint32_t group = 0;          ///< KV-cache group inside the engine; 0 is the first or only one
  bool prefix_complete = true;      ///< false for groups (sliding window, mamba ...) that cannot answer for a whole prefix
};

/// Consecutive blocks of one chain were committed.
struct stored_event {
  event_scope scope;
  std::vector<engine_hash> hashes;         ///< one name per block, in order
  std::optional<engine_hash> parent;       ///< name of the block before the first
  std::optional<position> base;            ///< position of the first block, when the publisher tells
  std::vector<std::uint32_t> tokens;       ///< all blocks' tokens in order; may be empty
  bool has_tokens = false;                 ///< false: the event had none (a placeholder, or a publisher on the standard hash)
  bool standard_hashes = false;            ///< the names are rolling sequence hashes of the standard, so they identify the blocks
  std::vector<std::string> extra_keys;     ///< per block: canonical MessagePack bytes of its keys, "" for none; may be shorter
};

/// Blocks were evicted from one medium.
struct removed_event {
  event_scope scope;
  std::vector<engine_hash> hashes;
};

/// Everything the stream's worker held on a medium is gone; without a medium, see event_applier.
struct cleared_event {
  event_scope scope;
};

using event = std::variant<stored_event, removed_event, cleared_event>;

/// What one wire message carries.
struct event_batch {
  double timestamp_s = 0;            ///< publisher's clock, seconds since the epoch; informational
  std::optional<dp_rank> rank;       ///< rank the batch speaks for
  std::vector<event> events;
  std::uint32_t rejected_events = 0; ///< events of this batch that could not be decoded and were left out
};

}  // namespace kvc::core
