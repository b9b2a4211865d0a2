// The prefix cache of one engine in a made workload: decides what is stored and what is evicted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

#include "core/ids.hpp"
#include "perf/bench_writer.hpp"

namespace kvc::perf {

/// A request as engines see it: the blocks of the prompt and, behind them, those of the answer.
struct cached_request {
  std::span<const core::local_hash> locals;
  std::span<const core::engine_hash> names;  ///< as many
  std::size_t prompt_blocks = 0;             ///< at most all
};

/// Least recently used first, blocks of the request being served never, and the tail of a request before its head: so whatever is cached
/// has its prefix cached, too. A request larger than the cache keeps what fits.
class bench_cache {
 public:
  /// `capacity` in blocks, at least 1. Memory grows as the cache fills.
  bench_cache(std::uint32_t worker, std::uint32_t capacity);

  /// Serves a request and writes what it does to the cache: one removal and one store for the prompt, one of each for every block of the
  /// answer. Returns the leading blocks of the prompt that were cached before.
  std::size_t serve(const cached_request& request, bench_writer& out);

 private:
  static constexpr std::uint32_t ring = 0;  ///< slot 0 is where the ring of evictable blocks begins and ends

  struct slot {
    std::uint64_t name = 0;
    std::uint32_t older = ring;
    std::uint32_t newer = ring;
  };

  void unlink(std::uint32_t which) noexcept;
  void link_newest(std::uint32_t which) noexcept;
  /// Takes blocks `first` .. `last` into use, evicting for them, and writes it down. Precondition: they fit, and none of them is cached.
  void take_in(const cached_request& request, std::size_t first, std::size_t last, bench_writer& out);

  std::uint32_t worker_;
  std::uint32_t capacity_;
  std::vector<slot> slots_;
  boost::unordered_flat_map<std::uint64_t, std::uint32_t> places_;
  std::vector<std::uint32_t> in_use_;       ///< slots of the request being served, in its order
  std::vector<core::engine_hash> evicted_;  ///< scratch
};

}  // namespace kvc::perf
