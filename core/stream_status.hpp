// What is known about one stream at this moment, readable from any lane.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string_view>

#include "core/counters.hpp"
#include "core/medium.hpp"
#include "core/name_counts.hpp"

namespace kvc::core {

/// How much of a stream the index provably reflects.
enum class stream_state : std::uint8_t {
  joining,     ///< registered; nothing applied yet
  whole,       ///< every batch up to the cursor is applied
  recovering,  ///< a replay is running
  incomplete,  ///< batches are lost for good or blocks were evicted: answers may miss or overstate blocks of this worker
  stale,       ///< silent for longer than allowed
  stopped,     ///< unregistered; its blocks are leaving
};

enum class connection_state : std::uint8_t { connecting, connected, disconnected };

[[nodiscard]] std::string_view to_string(stream_state state) noexcept;
[[nodiscard]] std::string_view to_string(connection_state state) noexcept;

/// Counters and state of one stream. Written by its lane with relaxed stores, read from anywhere with relaxed loads: each value is exact, a
/// set of them is a recent picture, not a cut. `no_seqno` stands for "none yet".
struct stream_status {
  static constexpr std::uint64_t no_seqno = ~std::uint64_t{0};

  std::atomic<stream_state> state{stream_state::joining};
  std::atomic<connection_state> connection{connection_state::connecting};
  std::atomic<std::uint64_t> last_seqno{no_seqno};      ///< newest applied
  std::atomic<std::int64_t> last_applied_ns{0};          ///< steady clock at that moment; 0: never
  std::atomic<std::uint64_t> generation{0};
  std::atomic<std::uint64_t> batches{0};
  std::atomic<std::uint64_t> events{0};
  std::atomic<std::uint64_t> rejected{0};                ///< frames, batches or events that could not be understood
  std::atomic<std::uint64_t> stale_batches{0};           ///< at or below the cursor: dropped
  std::atomic<std::uint64_t> gaps{0};
  std::atomic<std::uint64_t> replays{0};
  std::atomic<std::uint64_t> replays_failed{0};
  std::atomic<std::uint64_t> restarts{0};
  std::atomic<std::uint64_t> missing{0};                 ///< seqnos known lost in this generation
  std::atomic<std::uint64_t> evicted{0};                 ///< blocks of this generation given up for the byte budget of the index
  std::atomic<std::uint64_t> orphans{0};                 ///< blocks waiting for a parent
  std::atomic<std::uint64_t> unknown_removals{0};
  std::atomic<std::uint64_t> rank_mismatches{0};         ///< batches that named another rank than registered
  std::atomic<std::uint64_t> skipped{0};                 ///< stored blocks that cannot be indexed
  std::atomic<std::uint64_t> reblocked_pages{0};         ///< blocks of another size than registered, taken apart or joined
  std::atomic<std::uint64_t> uncounted{0};               ///< blocks held in groups that cannot answer for a prefix
  std::atomic<std::uint64_t> unplaced{0};                ///< events about objects whose blocks are not known
  std::array<std::atomic<std::uint64_t>, max_media> blocks{};  ///< held, per medium
  event_counters decoded;
  std::array<name_counts, word_kind_count> unknown_words;  ///< by `word_kind`: words nobody has told us about

  /// Adds to a counter that only the calling lane writes: a plain load and store, no locked instruction.
  static void add(std::atomic<std::uint64_t>& counter, std::uint64_t amount) noexcept {
    counter.store(counter.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
  }
};

}  // namespace kvc::core
