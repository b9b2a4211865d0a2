// Applies a stream's events to the index: fills in what the registration says, hashes tokens, and keeps to the rules of each publisher.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "core/catalog.hpp"
#include "core/event.hpp"
#include "core/lane_blocks.hpp"
#include "core/registration.hpp"

namespace kvc::core {

/// One worker's events, on the lane that owns it.
///
/// Story: a decoded event names blocks in the engine's words. This class decides which partition it speaks about (the registration's, or
/// another one when the event says so: an adapter, or the full envelope of the standard), hashes its tokens, and moves the worker's blocks.
/// Rules: blocks of another size than registered are skipped unless the envelope is the standard one, where the size is part of the
/// identity; events of groups that cannot answer for a whole prefix are skipped, and so are their removals; a token list that does not fit
/// the names is skipped; the stored blocks among these are counted in `apply_tally::skipped`.
/// A cleared event without a medium means the registered medium for engines (an engine resets its own device cache, offloaded copies
/// survive: kv-events.md section 2.3), and every medium for pools and publishers of the standard envelope. It clears the partitions that
/// agree with every dimension it names: all of them when it names none.
/// Lane: all members on the owning lane.
class event_applier {
 public:
  struct options {
    std::size_t max_orphans = 65'536;
    std::shared_ptr<lane_names> lane = {};  ///< see lane_blocks::options
    std::size_t max_partitions = 256;  ///< partitions one stream may open by its events; more are skipped
  };

  /// Joins the registration's partition. Throws std::invalid_argument when its seed conflicts: ask `catalog::accepts` first.
  event_applier(const registration& from, const member& who, catalog& partitions, options limits);

  /// Where in a batch the work stands, between turns.
  struct progress {
    std::size_t next_event = 0;
  };

  /// Applies events of `batch` from `at` on until about `budget` blocks have been touched. True when the batch is finished.
  /// The same batch must be passed until then, and nothing else may be applied meanwhile.
  [[nodiscard]] bool apply_some(const event_batch& batch, progress& at, std::size_t budget, apply_tally& tally);

  /// Forgets everything the worker holds, about `budget` blocks per call. True when nothing is left.
  [[nodiscard]] bool drop_some(std::size_t budget, apply_tally& tally);

  /// Queries stop seeing the worker. Call `drop_some` until done afterwards.
  void leave();

  /// See lane_blocks::evict_some; not while a batch is half applied.
  [[nodiscard]] bool evict_some(eviction_pass& pass, std::size_t& budget, const std::function<void()>& before_first, apply_tally& tally) {
    return blocks_.evict_some(pass, budget, before_first, tally);
  }

  /// Whether such an event means every block the worker has ever stored, wherever it lies.
  [[nodiscard]] bool clears_everything(const cleared_event& cleared) const;

  [[nodiscard]] const lane_blocks& blocks() const noexcept { return blocks_; }

 private:
  [[nodiscard]] std::shared_ptr<partition> home_of(const event_scope& scope);
  /// Groups of one engine may use one hash for different blocks, so every group but the first has a name space of its own. A publisher on
  /// the standard hash gives equal names to equal blocks only, in any group.
  [[nodiscard]] engine_hash in_group(engine_hash name, std::uint32_t group) const;
  [[nodiscard]] bool is_counted_group(const event_scope& scope);
  void store(const stored_event& stored, apply_tally& tally);
  void remove(const removed_event& removed, apply_tally& tally);
  [[nodiscard]] media_mask media_cleared_by(const cleared_event& cleared) const;
  [[nodiscard]] bool clear_some(const cleared_event& cleared, std::size_t budget, apply_tally& tally);

  registration registration_;
  member member_;
  catalog* catalog_;
  options limits_;
  bool has_standard_names_;                                  ///< the publisher names blocks by the standard hash, as far as is known
  std::shared_ptr<partition> home_;                          ///< the registration's own
  std::map<partition_key, std::shared_ptr<partition>> others_;  ///< opened by events
  std::set<std::uint32_t> uncounted_groups_;
  lane_blocks blocks_;
  std::vector<engine_hash> names_;                           ///< reused between events
  std::vector<local_hash> locals_;
};

}  // namespace kvc::core
