// What is known about one stream at this moment, readable from any lane.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/counters.hpp"
#include "core/medium.hpp"
#include "core/name_counts.hpp"
#include "core/rank_shares.hpp"

namespace kvc::core {

/// How much of a stream the index provably reflects.
enum class stream_state : std::uint8_t {
  joining,      ///< registered, or begun again; nothing is known yet
  catching_up,  ///< the replay of what was published before we listened is running
  whole,        ///< every batch up to the cursor is applied
  recovering,   ///< a gap is replayed, one that was away has not shown yet who it is, or the blocks of one that restarted leave
  incomplete,   ///< batches are lost or may be, or blocks were evicted: answers miss blocks of this worker or, where kept, overstate them
  stale,        ///< neither a batch nor a connection for longer than allowed
  stopped,      ///< unregistered; its blocks are leaving
};
inline constexpr std::size_t stream_state_count = 7;

/// How troubled a stream is, whole ones least: who has several shows the state of the most troubled one.
[[nodiscard]] int severity_of(stream_state state) noexcept;

enum class connection_state : std::uint8_t {
  connecting,  ///< not reached yet since it was registered
  connected,
  disconnected,  ///< it was connected before
  failed,        ///< there is no socket: the address is taken or none, or no descriptor is left; it is tried again
};

/// How a replay ended.
enum class replay_outcome : std::uint8_t {
  complete,     ///< all of the range, or all the publisher has, was applied
  partial,      ///< answered, and some batches of the range are lost, or may be, as nothing marked the end
  unanswered,   ///< no answer at all
  interrupted,  ///< the connection broke meanwhile; what is still missing is asked for again
  foreign,      ///< the endpoint answers for another publisher: nothing of its answer counts
};
inline constexpr std::size_t replay_outcome_count = 5;

[[nodiscard]] std::string_view to_string(stream_state state) noexcept;
[[nodiscard]] std::string_view to_string(replay_outcome outcome) noexcept;
[[nodiscard]] std::string_view to_string(connection_state state) noexcept;

/// Counters and state of one stream. Written by its lane with relaxed stores, read from anywhere with relaxed loads: each value is exact, a
/// set of them is a recent picture, not a cut. `no_seqno` stands for "none yet".
struct stream_status {
  static constexpr std::uint64_t no_seqno = ~std::uint64_t{0};
  static constexpr std::int64_t no_delay = -1;  ///< no batch with a time yet

  std::atomic<stream_state> state{stream_state::joining};
  std::atomic<connection_state> connection{connection_state::connecting};
  std::atomic<std::uint64_t> last_seqno{no_seqno};  ///< newest applied
  std::atomic<std::int64_t> last_applied_ns{0};     ///< steady clock at that moment; 0: never
  std::atomic<std::int64_t> delay_ms{no_delay};     ///< from its publisher's clock to ours, at that moment
  std::atomic<std::uint64_t> behind{0};             ///< batches known to have been published and not applied yet
  std::atomic<std::uint64_t> generation{0};
  std::atomic<std::uint64_t> batches{0};
  std::atomic<std::uint64_t> events{0};
  std::atomic<std::uint64_t> rejected{0};       ///< frames, batches or events that could not be understood
  std::atomic<std::uint64_t> bad_messages{0};   ///< of them, messages of the wrong shape
  std::atomic<std::uint64_t> bad_batches{0};    ///< of them, payloads that could not be decoded
  std::atomic<std::uint64_t> other_topics{0};   ///< messages whose topic only begins like the registered one: dropped
  std::atomic<std::uint64_t> stale_batches{0};  ///< at or below the cursor: dropped
  std::atomic<std::uint64_t> gaps{0};
  std::atomic<std::uint64_t> replays{0};
  std::atomic<std::uint64_t> replays_failed{0};  ///< never answered
  std::array<std::atomic<std::uint64_t>, replay_outcome_count> replays_by_outcome{};
  std::atomic<std::uint64_t> restarts{0};
  std::atomic<std::uint64_t> failures{0};         ///< times something was thrown here, for want of memory say, and it began anew
  std::atomic<std::uint64_t> missing{0};          ///< seqnos known lost in this generation
  std::atomic<std::uint64_t> unproven{0};         ///< absences in this generation that may hide a restart
  std::atomic<std::uint64_t> lost{0};             ///< seqnos known lost in all generations
  std::atomic<std::uint64_t> doubted{0};          ///< blocks dropped because what was missed may have removed them
  std::atomic<std::uint64_t> evicted{0};          ///< blocks of this generation given up for the byte budget of the index
  std::atomic<std::uint64_t> orphans{0};          ///< blocks waiting for a parent
  std::atomic<std::uint64_t> dropped_orphans{0};  ///< blocks that waited and were given up: their bound, or eviction
  std::atomic<std::uint64_t> unknown_removals{0};
  std::atomic<std::uint64_t> rank_mismatches{0};               ///< batches that named another rank than registered
  std::atomic<std::uint64_t> skipped{0};                       ///< stored blocks that cannot be indexed
  std::atomic<std::uint64_t> reblocked_pages{0};               ///< blocks of another size than registered, taken apart or joined
  std::atomic<std::uint64_t> uncounted{0};                     ///< blocks held in groups that cannot answer for a prefix
  std::atomic<std::uint64_t> unplaced{0};                      ///< events about objects whose blocks nothing names
  std::atomic<std::uint64_t> pool_objects{0};                  ///< of a pool: objects it holds (pool_joiner); so the next ones
  std::atomic<std::uint64_t> pool_waiting{0};                  ///< blocks whose names no engine has explained, doubtful ones included
  std::atomic<std::uint64_t> pool_doubtful{0};                 ///< names that engines use for different blocks
  std::atomic<std::uint64_t> pool_incomplete{0};               ///< blocks of which a part is missing, or may be
  std::atomic<std::uint64_t> pool_joined{0};                   ///< blocks whose names an engine has explained
  std::atomic<std::uint64_t> pool_dropped{0};                  ///< blocks given up because of a bound
  std::array<std::atomic<std::uint64_t>, max_media> blocks{};  ///< held, per medium, by all ranks it speaks for
  rank_shares ranks;                                           ///< what of them belongs to further ranks
  event_counters decoded;
  std::array<name_counts, word_kind_count> unknown_words;  ///< by `word_kind`: words nobody has told us about

  /// Adds to a counter that only the calling lane writes: a plain load and store, no locked instruction.
  static void add(std::atomic<std::uint64_t>& counter, std::uint64_t amount) noexcept {
    counter.store(counter.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
  }
};

}  // namespace kvc::core
