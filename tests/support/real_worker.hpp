// A worker of the real index, driven by the words of the tests: what an event applier does, less the decoding of events.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "core/catalog.hpp"
#include "core/lane_blocks.hpp"
#include "core/snapshot.hpp"
#include "tests/support/index_step.hpp"

namespace kvc::test {

/// The key of partition `number` of a test. All partitions of a test have the seed `test_seed`.
[[nodiscard]] core::partition_key partition_number(std::size_t number);

/// The dump of one worker as it passes from hand to hand.
struct worker_dump {
  std::vector<core::partition_key> homes;
  std::vector<core::dump_slice> slices;
};

/// One worker with its reverse map. All members on one thread, the worker's lane; the catalog may be shared between lanes.
class real_worker {
 public:
  /// `catalog` must outlive the worker. The worker is a member of nothing yet. Workers of one thread may share the names of a lane.
  real_worker(core::worker_id worker, const worker_traits& traits, core::catalog& catalog, std::shared_ptr<core::lane_names> lane = {});

  void join(std::size_t partition) { (void)home(partition); }
  void store(const store_step& step);
  void remove(core::engine_hash name, core::medium_id medium, const removal_step& from = {});
  /// Several names in one event.
  void remove(const std::vector<core::engine_hash>& names, core::medium_id medium) { blocks_.remove(names, medium, tally_); }
  /// In pieces of `budget` names, as a lane would.
  void clear(core::media_mask which, std::optional<std::size_t> only, std::size_t budget = 1'000'000);
  /// Makes the worker's part of a pass of eviction, `slice` blocks at a time. Returns how many went.
  std::uint64_t evict(core::eviction_pass& pass, std::size_t slice);
  /// See lane_blocks::follow.
  void follow(const core::partition& home, const std::vector<core::engine_hash>& names, std::vector<core::seq_hash>& blocks,
              std::size_t& budget) {
    blocks_.follow(home, names, blocks, budget);
  }
  /// See lane_blocks::meaning_of.
  [[nodiscard]] std::optional<core::seq_hash> meaning_of(core::engine_hash name) {
    const auto found = blocks_.meaning_of(name);
    return found ? std::optional(found->block) : std::nullopt;
  }
  /// Everything the worker holds, told in slices of some `budget` blocks.
  [[nodiscard]] worker_dump dump(std::size_t budget) const;
  /// Stores a dump again. Precondition: the worker holds nothing.
  void load(const worker_dump& from);
  /// Queries stop seeing the worker, then its blocks go.
  void leave();

  [[nodiscard]] core::stream_status& status() { return *member_.status; }
  [[nodiscard]] const core::lane_blocks& blocks() const { return blocks_; }
  [[nodiscard]] const core::apply_tally& tally() const { return tally_; }

 private:
  const std::shared_ptr<core::partition>& home(std::size_t partition);

  core::member member_;
  core::catalog* catalog_;
  core::lane_blocks blocks_;
  core::apply_tally tally_;
  std::size_t stores_ = 0;
  std::map<std::size_t, std::shared_ptr<core::partition>> homes_;
};

}  // namespace kvc::test
