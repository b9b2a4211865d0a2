// The identities everything is named by: who holds blocks, in which partition, and which message of a stream.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

#include "core/named.hpp"

namespace kvc::core {

using dp_rank = named<std::uint32_t, struct dp_rank_tag>;        ///< data-parallel rank inside an instance
using position = named<std::uint32_t, struct position_tag>;      ///< index of a block in its sequence, from 0
using seqno = named<std::uint64_t, struct seqno_tag>;            ///< number of a batch in one stream
using generation = named<std::uint64_t, struct generation_tag>;  ///< incarnation of a worker; late work of an old one is ignored

/// Hash of one block's tokens (and extra keys), blind to what precedes it. See block_hasher.hpp.
using local_hash = named<std::uint64_t, struct local_hash_tag>;
/// Rolling hash of the whole prefix that ends at a block; equal prefixes have equal values under one seed.
using seq_hash = named<std::uint64_t, struct seq_hash_tag>;
/// The name an engine gives a block in its events: opaque, meaningful only for the worker that sent it.
using engine_hash = named<std::uint64_t, struct engine_hash_tag>;
/// Dense number of a registered worker. Never reused while the process runs, so a late reader cannot confuse two workers.
using worker_id = named<std::uint32_t, struct worker_id_tag>;

/// What owns the blocks of a stream: an engine rank, or a cache pool. An instance may have one stream of each class.
enum class publisher_class : std::uint8_t { engine, pool };

/// A worker: what a block belongs to and what a query returns. (Source: spec indexer-api, "service key".)
struct worker_key {
  std::string tenant;    ///< never empty; `default` when the client named none
  std::string instance;  ///< routable engine, as the router names it
  dp_rank rank{};
  publisher_class kind = publisher_class::engine;

  friend auto operator<=>(const worker_key&, const worker_key&) = default;
};

/// What must agree before two blocks may be compared: one index each. (Source: spec indexer-api, "Identity".)
/// The adapter name is a dimension of the key and never enters a hash; see core/README.md.
struct partition_key {
  std::string tenant;
  std::string model;
  std::string lora;              ///< empty: the base model
  std::string salt;              ///< empty: none
  std::uint32_t block_size = 0;  ///< tokens per block, at least 1

  friend auto operator<=>(const partition_key&, const partition_key&) = default;
};

}  // namespace kvc::core
