// What a query that wants a prefetch leaves behind once it is answered.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/ids.hpp"

namespace kvc::net {

/// What is to be done about the objects of a query's blocks.
enum class leftover_purpose : std::uint8_t {
  promotion,  ///< those behind the match that are on disk only are wanted in memory
  reading,    ///< those that were known for sure long ago are to be read again from their store
};

/// What a query leaves behind once it is answered.
struct query_leftover {
  leftover_purpose purpose = leftover_purpose::promotion;
  core::partition_key partition;
  std::string preferred;  ///< instance, host or segment
  std::uint64_t hash_seed = 0;
  std::string to_look_up;  ///< instance whose blocks, the next two, are still to be asked for, since the answer did not show them; or empty
  std::size_t in_memory = 0;                            ///< leading blocks that the instance has in memory; the walk begins behind them
  std::size_t on_any = 0;                               ///< leading blocks that it has on any medium
  std::uint64_t max_blocks = 0;                         ///< 0: the setting
  std::vector<core::local_hash> locals;                 ///< of the prompt, unless it came by hash
  std::vector<core::seq_hash> hashes;                   ///< of the prompt, if it came by hash
  std::vector<std::uint32_t> tokens;                    ///< of the prompt; only where a store knows blocks by nothing else
  std::shared_ptr<std::atomic<std::size_t>> under_way;  ///< counts those there are; null: nobody does

  query_leftover() = default;
  query_leftover(const query_leftover&) = delete;
  query_leftover& operator=(const query_leftover&) = delete;
  ~query_leftover() {
    if (under_way) under_way->fetch_sub(1, std::memory_order_relaxed);
  }
};

}  // namespace kvc::net
