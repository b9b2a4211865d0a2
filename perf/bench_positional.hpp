// The published per-block positional index with jump search, written by us as a measured reference. No part of the server.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/ids.hpp"
#include "core/match.hpp"

namespace kvc::perf {

/// The depth of one worker, in blocks, at least 1.
struct positional_reach {
  core::worker_id worker{};
  std::uint32_t depth = 0;
};

/// An answer of the positional index, with the memory a query works in. Reused from query to query; one owner, one thread.
struct positional_answer {
  std::vector<positional_reach> found;  ///< in no particular order; every depth is at least 1

  std::vector<std::uint32_t> active;   ///< scratch: workers that match so far
  std::vector<core::seq_hash> rolled;  ///< scratch: the query's sequence hashes, as far as they were needed
};

/// The design of the Flash Indexer article (NVIDIA Dynamo, February 2026, section 6) on tbb::concurrent_hash_map.
///
/// One concurrent map per position, from local hash to the sequence hashes seen there with the set of workers that hold each; and per
/// worker a map from sequence hash back to (position, local hash). A query looks at every `stride`-th position only, and walks a stretch
/// block by block where fewer workers hold its end than its beginning.
///
/// It answers what the article's design answers, which is not the strict model:
///  1. A checkpoint counts holders, it does not compare them: holes inside a stretch go unnoticed, and a worker that comes back behind a
///  hole may
///     stand in for one that left.
///  2. Where a (position, local hash) has one sequence hash only, it matches whatever came before it in the query.
///  3. Where it has several, the query's own sequence hash decides. So engines must name blocks by the article's rolling hash; here that is
///     XXH3-64 with seed 0, as in the KVWL files of the standard workloads and those we make.
///  4. A store behind an unknown parent is dropped.
///
/// Thread-safety: events of one worker by one thread; queries by any. Bound: `max_positions`; what is stored beyond is dropped and counted.
class bench_positional {
 public:
  static constexpr std::size_t max_positions = 65'536;  ///< blocks of one sequence
  static constexpr std::uint32_t default_stride = 64;   ///< the article's default jump size

  /// `stride` is at least 1; at 1 every position is looked at.
  explicit bench_positional(std::uint32_t stride = default_stride);
  ~bench_positional();
  bench_positional(const bench_positional&) = delete;
  bench_positional& operator=(const bench_positional&) = delete;

  /// Stores a chain behind `parent`, or from position 0 when that is null. Precondition: as many names as locals.
  void store(std::uint32_t worker, const core::engine_hash* parent, std::span<const core::engine_hash> names,
             std::span<const core::local_hash> locals);
  /// Names that the worker does not hold are ignored.
  void remove(std::uint32_t worker, std::span<const core::engine_hash> names);

  /// How many leading blocks each worker holds, as far as jump search can tell. `into.found` is cleared first.
  void query(std::span<const core::local_hash> locals, positional_answer& into) const;

  /// (worker, block) pairs held now. Exact while nobody writes.
  [[nodiscard]] std::uint64_t entries() const;
  /// Blocks whose store was dropped: behind an unknown parent, or beyond `max_positions`.
  [[nodiscard]] std::uint64_t dropped() const noexcept;

 private:
  struct tables;
  std::unique_ptr<tables> tables_;
  std::uint32_t stride_;
};

}  // namespace kvc::perf
