// Applies the events of one worker to the index: fills in what the registration says, hashes tokens, and keeps to the rules of its
// publisher.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "core/block_hasher.hpp"
#include "core/catalog.hpp"
#include "core/event.hpp"
#include "core/lane_blocks.hpp"
#include "core/pool_applier.hpp"
#include "core/reblocker.hpp"
#include "core/registration.hpp"
#include "core/uncounted_groups.hpp"

namespace kvc::core {

class recipe_notes;

/// What one worker's applier keeps to; see event_applier::options.
struct applier_options {
  std::size_t max_orphans = 65'536;
  std::shared_ptr<orphan_line> orphans = {};  ///< of the stream; null: the bound is the worker's own
  std::shared_ptr<lane_names> lane = {};
  std::size_t max_partitions = 256;
  reblocker::bounds pages = {};
  std::shared_ptr<recipe_notes> recipe = {};  ///< null: nobody looks at how blocks are named
  std::chrono::milliseconds pool_settle{1'000};
  std::function<medium_id()> pool_mixed = {};
  std::function<void()> pool_wake = {};
};

/// One worker's events, on the lane that owns it.
///
/// Story: a decoded event names blocks in the engine's words. This class decides which partition it speaks about (the registration's, or
/// another one when the event says so: an adapter, or the full envelope of the standard), hashes its tokens, and moves the worker's blocks.
/// Rules: blocks of another size than registered open a partition of their own for publishers of the standard envelope, where the size is
/// part of the identity, and are taken apart or joined for engines (see reblocker; key lists cannot be, so such blocks are skipped). Events
/// that store in groups which cannot answer for a whole prefix are tracked by name and never counted, and a removal takes such names first.
/// Tokens that do not fit the names are never distributed among them: the names then stand for blocks that other events have to tell of.
/// What cannot be indexed is counted in `apply_tally::skipped`. A cleared event without a medium means the registered medium for engines
/// (an engine resets its own device cache, offloaded copies survive: kv-events.md section 2.3), and every medium for pools and publishers
/// of the standard envelope. It clears the partitions that agree with every dimension it names: all of them when it names none. A store's
/// clear means the tenant it names and fills in the rest from its configuration (kv-events.md section 6.3), so no more of it counts. A
/// partition in which nothing is held any more gives way to another one when the worker may be in no more of them. What a pool says of
/// objects, or of blocks that only their names tell, is its pool_applier's. Lane: all members on the owning lane.
class worker_applier {
 public:
  /// Joins the registration's partition. Throws std::invalid_argument when its seed conflicts: ask `catalog::accepts` first.
  worker_applier(const registration& from, const member& who, catalog& partitions, const applier_options& limits);

  /// Names of one event that are applied before other work of the lane may have a turn.
  static constexpr std::size_t names_at_once = 1'024;

  /// Applies names of an event from number `next` on, 0 at first, and moves it on. True when all are applied; until then the same event
  /// must be passed again, and nothing else may be called but `answer` and what changes nothing.
  [[nodiscard]] bool store_some(const stored_event& stored, std::size_t& next, apply_tally& tally);
  [[nodiscard]] bool remove_some(const removed_event& removed, std::size_t& next, apply_tally& tally);
  /// An object of a store; of a worker that is no pool it is `unplaced`.
  void move(const object_event& moved, apply_tally& tally);
  /// Looks at about `budget` blocks. True when done; until then the same event must be passed, and nothing else may be called.
  [[nodiscard]] bool clear_some(const cleared_event& cleared, std::size_t budget, apply_tally& tally);

  /// Forgets everything the worker holds, about `budget` blocks per call, and then what its events have told of partitions and groups. True
  /// when nothing is left.
  [[nodiscard]] bool drop_some(std::size_t budget, apply_tally& tally);

  /// All that it holds and will hold is somebody else's of the same instance: of another rank.
  void become(std::shared_ptr<const worker_key> key);

  /// How to hash the tokens of coming events beforehand, so that nobody has to keep them: absent while they may be needed for more. As long
  /// as no event of another block size comes, it holds for stores that name no adapter and no extra keys, and say nothing else of a
  /// partition.
  [[nodiscard]] std::optional<hash_recipe> recipe() const;

  /// Queries stop seeing the worker. Call `drop_some` until done afterwards.
  void leave() { catalog_->leave(member_.id); }

  /// See lane_blocks::evict_some; not while a batch is half applied.
  [[nodiscard]] bool evict_some(eviction_pass& pass, std::size_t& budget, const std::function<void()>& before_first, apply_tally& tally) {
    return blocks_.evict_some(pass, budget, before_first, tally);
  }

  /// Whether such an event means every block the worker has ever stored, wherever it lies, also those that were never heard of: all media
  /// it has been heard to use, and its own.
  [[nodiscard]] bool clears_everything(const cleared_event& cleared) const;

  [[nodiscard]] const lane_blocks& blocks() const noexcept { return blocks_; }
  /// The worker's objects; null when it is no pool.
  [[nodiscard]] pool_applier* pool() noexcept { return pool_.get(); }
  [[nodiscard]] const pool_applier* pool() const noexcept { return pool_.get(); }
  /// Tells the board what the worker means by the names of a question, as far as it holds them.
  void answer(const name_question& asked);
  /// See lane_blocks::follow.
  void follow(const partition& home, std::span<const engine_hash> names, std::vector<seq_hash>& blocks, std::size_t& budget) {
    blocks_.follow(home, names, blocks, budget);
  }
  /// What it was made from.
  [[nodiscard]] const registration& from() const noexcept { return registration_; }
  /// What waits for its place to be told: blocks, and blocks of another size that are less than one.
  [[nodiscard]] std::size_t orphans() const noexcept { return blocks_.orphans() + pages_.waiting(); }
  /// How often it has joined or left a partition since this was last asked, its own one at first included: work that no block shows.
  [[nodiscard]] std::size_t take_membership_changes() noexcept { return std::exchange(membership_changes_, 0); }
  /// Blocks of groups that are never counted as prefix.
  [[nodiscard]] std::size_t uncounted() const noexcept { return uncounted_.blocks(); }

 private:
  /// Null: there is no room for another one, or somebody else has it under another seed.
  [[nodiscard]] std::shared_ptr<partition> home_of(const event_scope& scope);
  [[nodiscard]] partition_key key_of(const event_scope& scope) const;
  [[nodiscard]] lane_blocks::removal_scope removal_scope_of(const event_scope& scope) const;
  /// Leaves partitions in which nothing is held any more. False: there are none, as far as was looked.
  [[nodiscard]] bool make_room();
  /// Leaves all partitions but these and the registration's own. Precondition: nothing is held in the others.
  void keep_homes(const std::set<const partition*>& busy);
  /// Groups of one engine may use one hash for different blocks, so every group but the first has a name space of its own. A publisher on
  /// the standard hash gives equal names to equal blocks only, in any group; which of the two it is each event tells.
  [[nodiscard]] engine_hash in_group(engine_hash name, const event_scope& scope) const;
  [[nodiscard]] std::span<const engine_hash> names_in_group(std::span<const engine_hash> names, const event_scope& scope);
  /// Whether equal names of this publisher mean equal blocks.
  [[nodiscard]] bool speaks_standard() const noexcept {
    return registration_.type == publisher_type::standard || registration_.type == publisher_type::mooncake;
  }
  /// The same of one event: of a publisher that is to be looked at, its form decides.
  [[nodiscard]] bool is_by_standard(const event_scope& scope) const noexcept {
    return speaks_standard() || (registration_.type == publisher_type::automatic && scope.names_span_groups);
  }
  /// What of its scope limits a clear.
  [[nodiscard]] event_scope limits_of(const cleared_event& cleared) const;
  [[nodiscard]] bool is_of_other_size(const event_scope& scope) const;
  void check_standard(const stored_event& stored, const partition& home);
  /// Tells the board what a name means, if the worker knows.
  void explain(engine_hash name, name_board& to);
  void explain(engine_hash name, const lane_blocks::meaning& means, name_board& to);
  void remove_blocks(std::span<const engine_hash> names, medium_id medium, const lane_blocks::removal_scope& from, apply_tally& tally);
  [[nodiscard]] bool clear_pool(media_mask which, std::span<const partition* const> only, std::size_t budget, apply_tally& tally);
  /// What an event stores in blocks of the registered size, or by name; of what is stored otherwise, nothing is left.
  [[nodiscard]] std::optional<store_command> begin_store(const stored_event& stored, apply_tally& tally);
  [[nodiscard]] bool is_told_by_device(const stored_event& stored, const store_command& command);
  void note_recipe(const store_command& command, const stored_event& stored);
  void begin_pages(const stored_event& stored, const store_command& command, std::uint32_t page_tokens, apply_tally& tally);
  /// Some of `paging_`, see store_some.
  [[nodiscard]] bool store_pages(std::size_t& next, apply_tally& tally);
  /// How many of these names stand for about `names_at_once` blocks: a page holds any number of them.
  [[nodiscard]] std::size_t part_of(std::span<const engine_hash> names) const;
  /// The names that `is_page` denies. Valid until the next call.
  template <class IsPage>
  [[nodiscard]] std::span<const engine_hash> unpaged(IsPage is_page, std::span<const engine_hash> names) {
    if (pages_.pages() == 0) return names;
    unpaged_.clear();
    for (const engine_hash name : names) {
      if (!is_page(name)) unpaged_.push_back(name);
    }
    return unpaged_;
  }
  [[nodiscard]] bool is_by_standard(const stored_event& stored) const;
  [[nodiscard]] bool store_pooled(const stored_event& stored, std::size_t& next, apply_tally& tally);
  [[nodiscard]] media_mask media_cleared_by(const cleared_event& cleared) const;
  void remember_medium(medium_id medium);

  registration registration_;
  member member_;
  catalog* catalog_;
  applier_options limits_;
  std::shared_ptr<partition> home_;                             ///< the registration's own
  std::map<partition_key, std::shared_ptr<partition>> others_;  ///< opened by events
  std::size_t membership_changes_ = 1;                          ///< see take_membership_changes
  bool found_no_room_ = false;                                  ///< by the event under way
  std::uint32_t room_pause_ = 0;  ///< events without room before it is looked for again, and how many of them are still to come
  std::uint32_t room_wait_ = 0;
  lane_blocks blocks_;
  reblocker pages_;
  uncounted_groups uncounted_;
  std::vector<engine_hash> names_;  ///< reused between events
  std::vector<engine_hash> unpaged_;
  std::vector<engine_hash> left_;  ///< of a removal: what is none of the pool's objects
  std::vector<local_hash> locals_;
  store_command storing_;               ///< of the event under way, where it has more names than are stored at once
  page_stretch paging_;                 ///< of the event under way, where it stores pages
  bool are_pages_cleared_ = false;      ///< by the clear under way
  bool is_pool_cleared_ = false;        ///< the same
  std::unique_ptr<pool_applier> pool_;  ///< last: it holds blocks of `blocks_`
};

}  // namespace kvc::core
