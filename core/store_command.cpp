#include "core/store_command.hpp"

namespace kvc::core {

void apply_tally::add(const apply_tally& other) noexcept {
  stored += other.stored;
  repeated += other.repeated;
  moved += other.moved;
  removed += other.removed;
  unknown_removals += other.unknown_removals;
  orphaned += other.orphaned;
  joined += other.joined;
  dropped_orphans += other.dropped_orphans;
  skipped += other.skipped;
  beyond_partitions += other.beyond_partitions;
  beyond_owners += other.beyond_owners;
  beyond_pages += other.beyond_pages;
  reblocked_pages += other.reblocked_pages;
  reblocked += other.reblocked;
  uncounted += other.uncounted;
  unplaced += other.unplaced;
  whole_clears += other.whole_clears;
}

}  // namespace kvc::core
