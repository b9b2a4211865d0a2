// The index as the benchmarks drive it: one partition and its workers, through the interface that the service uses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/catalog.hpp"
#include "core/lane_blocks.hpp"
#include "core/match.hpp"
#include "perf/bench_workload.hpp"

namespace kvc::perf {

/// Sums that pin the answers of a whole file.
struct bench_sums {
  std::uint64_t pairs = 0;  ///< (worker, depth > 0) over all queries
  std::uint64_t depth_sum = 0;
};

/// Workers of one partition, spread over lanes by number. Events of one worker belong to one thread; queries to any.
class bench_fleet {
 public:
  bench_fleet(std::uint32_t workers, std::size_t lanes);
  ~bench_fleet();

  /// Tells that a store or a removal comes soon: `step` 0 to 4, five events ahead to one; see core::lane_blocks::expect.
  void expect(unsigned step, const bench_op& op) const;

  /// Applies a store or a removal; answers the blocks touched.
  std::size_t apply(const bench_op& op);

  void store(std::uint32_t worker, const core::engine_hash* parent, std::span<const core::engine_hash> names,
             std::span<const core::local_hash> locals, core::medium_id medium = core::medium_id::gpu);
  void remove(std::uint32_t worker, std::span<const core::engine_hash> names);

  /// Matches into `into`, reused by the caller.
  void query(std::span<const core::local_hash> locals, core::match_levels& into) const;
  /// Adds what `found` says to `sums`.
  static void count(const core::match_levels& found, bench_sums& sums);

  /// The reverse map of a worker, for what goes beyond events.
  [[nodiscard]] core::lane_blocks& worker(std::uint32_t number) noexcept { return *workers_[number]; }
  [[nodiscard]] const std::shared_ptr<core::partition>& home() const noexcept { return home_; }

  [[nodiscard]] std::size_t lane_of(std::uint32_t worker) const noexcept { return worker % lanes_; }
  [[nodiscard]] std::size_t lanes() const noexcept { return lanes_; }
  /// (worker, block) pairs held now.
  [[nodiscard]] std::uint64_t entries() const;
  [[nodiscard]] const core::prefix_index& index() const noexcept { return home_->index(); }
  [[nodiscard]] const core::apply_tally& tally_of(std::size_t lane) const noexcept { return tallies_[lane].tally; }

 private:
  struct alignas(64) lane_tally {
    core::apply_tally tally;
  };
  std::size_t lanes_;
  std::shared_ptr<core::partition> home_;
  std::vector<std::unique_ptr<core::lane_blocks>> workers_;
  std::vector<lane_tally> tallies_;
  core::match_scope scope_;
};

}  // namespace kvc::perf
