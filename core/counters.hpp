// Plain counters of one lane, and how those of all lanes add up.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "core/event_counts.hpp"

namespace kvc::core {

/// A number that one lane adds to and anyone reads: a relaxed load and store, never a locked instruction.
class lane_counter {
 public:
  void add(std::uint64_t amount = 1) noexcept { value_.store(value_.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed); }
  void subtract(std::uint64_t amount = 1) noexcept {
    value_.store(value_.load(std::memory_order_relaxed) - amount, std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t get() const noexcept { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

/// Durations in power-of-two buckets: bucket i counts values below 2^i microseconds / 4, that is 0.25 us, 0.5 us, 1 us, 2 us ...
/// The last bucket has no upper end. Each bucket is four steps of equal width, for who wants a quantile: within a bucket alone it could be
/// off by a third. One lane observes, anyone reads.
class latency_histogram {
 public:
  static constexpr std::size_t bucket_count = 28;
  static constexpr std::size_t steps_per_bucket = 4;
  static constexpr std::size_t step_count = bucket_count * steps_per_bucket;

  /// `times`: so many values of this size.
  void observe_ns(std::uint64_t nanoseconds, std::uint64_t times = 1) noexcept {
    const std::size_t step = step_of(nanoseconds / 125 * 2 + nanoseconds % 125 * 2 / 125);  // twice over 125, which may not overflow
    steps_[step < step_count ? step : step_count - 1].add(times);
    sum_ns_.add(nanoseconds * times);
  }
  /// Values observed in bucket i alone (not cumulative).
  [[nodiscard]] std::uint64_t in_bucket(std::size_t i) const noexcept {
    std::uint64_t all = 0;
    for (std::size_t step = i * steps_per_bucket; step < (i + 1) * steps_per_bucket; ++step) all += in_step(step);
    return all;
  }
  /// Values observed in step i alone, the `i % steps_per_bucket`th of bucket `i / steps_per_bucket`.
  [[nodiscard]] std::uint64_t in_step(std::size_t i) const noexcept { return steps_[i].get(); }
  [[nodiscard]] std::uint64_t sum_ns() const noexcept { return sum_ns_.get(); }
  /// Upper end of bucket i in seconds.
  [[nodiscard]] static constexpr double upper_bound_s(std::size_t i) noexcept {
    return 0.25e-6 * static_cast<double>(std::uint64_t{1} << i);
  }
  /// Upper end of step i in seconds; the last step has none, as its bucket.
  [[nodiscard]] static constexpr double upper_bound_of_step_s(std::size_t i) noexcept {
    const std::size_t bucket = i / steps_per_bucket;
    const double end = upper_bound_s(bucket);
    const double begin = bucket == 0 ? 0 : upper_bound_s(bucket - 1);
    return begin + (end - begin) * static_cast<double>(i % steps_per_bucket + 1) / static_cast<double>(steps_per_bucket);
  }

 private:
  /// Of a duration in sixteenths of a microsecond, of which the first bucket has four: a step each.
  static constexpr std::size_t step_of(std::uint64_t sixteenths) noexcept {
    const auto bucket = static_cast<unsigned>(std::bit_width(sixteenths / steps_per_bucket));
    if (bucket == 0) return static_cast<std::size_t>(sixteenths);
    return bucket * steps_per_bucket + static_cast<std::size_t>(sixteenths >> (bucket - 1)) - steps_per_bucket;
  }

  std::array<lane_counter, step_count> steps_;
  lane_counter sum_ns_;
};

/// Routes with counters of their own; whatever else is asked for counts as `other`.
enum class route : std::uint8_t {
  query,
  query_by_hash,
  query_batch,
  register_publisher,
  unregister_publisher,
  inspect,
  metrics,
  coordinator,
  exist,
  stores,
  other
};
inline constexpr std::size_t route_count = 11;
[[nodiscard]] constexpr const char* route_name(route which) noexcept {
  constexpr std::array<const char*, route_count> names{"query",   "query_by_hash", "query_batch", "register", "unregister", "inspect",
                                                       "metrics", "coordinator",   "exist",       "stores",   "other"};
  return names[static_cast<std::size_t>(which)];
}

struct route_counters {
  std::array<lane_counter, 6> by_status_class;  ///< index 2 = 2xx ... 5 = 5xx
  latency_histogram handling;                   ///< from the last byte of the request read to the reply ready to be written
};

/// Events by dialect and kind, and those left out by reason; see event_tally.
struct event_counters {
  std::array<std::array<lane_counter, event_kind_count>, event_dialect_count> events;
  std::array<lane_counter, reject_reason_count> rejected;

  void add(const event_tally& more) noexcept {
    for (std::size_t dialect = 0; dialect < events.size(); ++dialect) {
      if (more.events[dialect] == decltype(more.events)::value_type{}) continue;  // all but one or two
      for (std::size_t kind = 0; kind < event_kind_count; ++kind) {
        if (more.events[dialect][kind] != 0) events[dialect][kind].add(more.events[dialect][kind]);
      }
    }
    for (std::size_t reason = 0; reason < rejected.size(); ++reason) {
      if (more.rejected[reason] != 0) rejected[reason].add(more.rejected[reason]);
    }
  }
};

/// What a probe for an object came to.
enum class exist_result : std::uint8_t { exists, missing, internal, invalid_key, unavailable };
inline constexpr std::size_t exist_result_count = 5;
inline constexpr std::array<const char*, exist_result_count> exist_result_names{"exists", "missing", "internal", "invalid_key",
                                                                                "unavailable"};

/// Everything one lane counts. Written by its lane only.
struct alignas(64) lane_counters {
  std::array<route_counters, route_count> routes;
  lane_counter connections_accepted;
  lane_counter connections_refused;  ///< over the limit
  lane_counter connections_open;
  lane_counter connections_timed_out;  ///< ended by a deadline
  lane_counter bodies_refused;         ///< 413 and body budget
  lane_counter bytes_in;
  lane_counter bytes_out;
  lane_counter queried_blocks;  ///< complete blocks in queries
  lane_counter matched_blocks;  ///< the deepest match of each query

  lane_counter batches;
  lane_counter bad_frames;    ///< messages with the wrong shape
  lane_counter other_topics;  ///< messages for other subscribers
  lane_counter bad_batches;   ///< payloads that could not be decoded
  lane_counter bad_events;    ///< events left out of a good batch
  lane_counter stored_events;
  lane_counter removed_events;
  lane_counter cleared_events;
  lane_counter stored_blocks;
  lane_counter removed_blocks;
  lane_counter unknown_removals;  ///< removals of names nobody holds
  lane_counter orphaned_blocks;   ///< stored under a parent not seen yet
  lane_counter joined_blocks;     ///< orphans whose parent came
  lane_counter dropped_orphans;   ///< orphans given up because of the bound, or by eviction
  lane_counter skipped_blocks;    ///< stored blocks that cannot be indexed (block size, position, bounds)
  lane_counter reblocked_pages;   ///< blocks of another size than registered that were taken apart or joined
  lane_counter reblocked_blocks;  ///< blocks of the registered size that were made of them
  lane_counter uncounted_blocks;  ///< stored in groups that cannot answer for a prefix
  lane_counter unplaced_events;   ///< about objects whose blocks nothing names
  event_counters decoded;
  std::array<lane_counter, exist_result_count> probes;  ///< keys of POST /exist
  lane_counter object_events;                           ///< replicas of objects that came or went
  lane_counter refused_objects;                         ///< events about objects that could not be taken
  lane_counter gaps;
  lane_counter replays;
  lane_counter replays_failed;
  lane_counter lost_batches;
  lane_counter restarts;
  latency_histogram apply_batch;  ///< from received to applied
  latency_histogram batch_delay;  ///< from its time by its publisher's clock to applied; of streams that are whole
};

}  // namespace kvc::core
