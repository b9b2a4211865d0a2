// How a stand-in store decides: capacities, marks, gates; and what comes of a look-up.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace kvc::sim {

/// The settings of a store and its master. Shares are of the capacity, above 0 to 1.
struct store_rules {
  std::uint32_t segments = 2;          ///< at least 1; each belongs to a client of its own
  std::uint64_t capacity = 1 << 20;    ///< bytes of memory of all segments
  bool offloads = true;                ///< false: what leaves memory is gone, unless it lies on disk
  double high_mark = 0.90;             ///< share of the capacity over which is evicted
  double evict_share = 0.10;           ///< of the capacity, at each eviction
  double watermark = 0.95;             ///< share of the capacity over which nothing is promoted
  std::uint32_t threshold = 2;         ///< look-ups that an object must have had
  std::size_t queue = 64;              ///< promotions that may be waiting or running
  std::chrono::milliseconds copy{20};  ///< how long a promotion takes
  std::chrono::milliseconds late_copy{3'000};
  std::chrono::milliseconds lease{5'000};  ///< (Source: Mooncake's default_kv_lease_ttl.)
};

/// What came of a look-up that may bring an object to memory.
enum class store_promotion : std::uint8_t {
  unknown,       ///< there is no such object, or nothing of it is complete
  not_needed,    ///< it is in memory, on its way there, or nowhere it could be brought from
  not_yet,       ///< not looked up often enough
  by_watermark,  ///< refused: memory is too full
  by_queue,      ///< refused: too many are waiting
  started,
};

/// What may go wrong with one promotion.
enum class store_trick : std::uint8_t {
  none,
  ignored,  ///< the look-up is answered and does not count
  late,     ///< the copy takes `late_copy`
  revoked,  ///< the copy is begun and given up
};

}  // namespace kvc::sim
