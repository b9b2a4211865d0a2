// The prefix cache of one engine rank, as vLLM keeps it, and the events it tells the world about.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "core/event.hpp"
#include "core/ids.hpp"
#include "perf/sim_tokens.hpp"

namespace kvc::sim {

/// How one simulated rank is built.
struct engine_shape {
  std::uint32_t block_size = 64;         ///< tokens per block, at least 1
  std::uint32_t capacity = 16'384;       ///< blocks the cache holds, at least 1
  std::uint32_t prefill_tokens = 8'192;  ///< prompt tokens computed per step (vLLM's usual max_num_batched_tokens); at least 1
  core::dp_rank rank{};
  std::uint64_t secret = 0;  ///< makes the block names of this engine its own
};

/// One rank's block-granular prefix cache.
///
/// Story: a prompt comes; its leading cached blocks are a hit and are taken into use; the rest is computed in steps, each step first
/// evicting what it needs room for and then storing its complete blocks; every generated block is stored by itself. When the request
/// ends its blocks become evictable again, the tail first, so that a shared beginning outlives what follows it. Blocks in use are never
/// evicted; a request that is larger than the cache keeps only what fits.
///
/// Consequence: a cached block's predecessor is always cached too, so the hit length is all there is to know about a prompt. (The unit
/// tests hold the class against a naive cache.) Requests are served one after the other and take no time, so every block has one copy.
///
/// Events carry engine hashes that are opaque and differ between engines. Thread-safety: none; one owner.
class engine {
 public:
  explicit engine(engine_shape shape);

  /// What serving a request did.
  struct outcome {
    std::uint32_t matched_blocks = 0;  ///< leading prompt blocks that were cached before
    std::uint32_t stored_blocks = 0;
    std::uint32_t removed_blocks = 0;
  };

  /// Serves a request. Appends one batch per step to `told`, unless that is null; timestamps are left 0 for the publisher to fill.
  outcome serve(const turn& request, std::vector<core::event_batch>* told);

  /// Leading blocks of the prompt (not of the answer) that are cached now. Changes nothing.
  [[nodiscard]] std::uint32_t matched(const turn& request) const;

  /// Blocks cached now.
  [[nodiscard]] std::size_t held() const noexcept { return places_.size(); }
  [[nodiscard]] const engine_shape& shape() const noexcept { return shape_; }

 private:
  static constexpr std::uint32_t nowhere = 0;  ///< slot 0 is the ring's own node

  /// A cached block. Evictable ones stand in a ring, the next victim first; those in use are linked to nothing.
  struct slot {
    std::uint64_t name = 0;
    std::uint32_t before = nowhere;
    std::uint32_t after = nowhere;
  };

  [[nodiscard]] std::uint64_t name_of(std::uint64_t chained) const noexcept;
  [[nodiscard]] bool has_room() const noexcept;
  [[nodiscard]] std::uint32_t evict(core::event_batch* told);
  void unlink(std::uint32_t which) noexcept;
  void append(std::uint32_t which) noexcept;
  [[nodiscard]] bool run_step(const turn& request, std::size_t first, std::size_t last, std::vector<core::event_batch>* told, outcome& sum);
  [[nodiscard]] core::stored_event describe(const turn& request, std::size_t first, std::size_t last) const;

  engine_shape shape_;
  std::vector<slot> slots_;                                  ///< [0] is the ring's node
  std::unordered_map<std::uint64_t, std::uint32_t> places_;  ///< name -> slot
  std::vector<std::uint32_t> in_use_;                        ///< slots of the request being served, in prompt order
};

}  // namespace kvc::sim
