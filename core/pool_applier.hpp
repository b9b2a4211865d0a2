// Applies what a store says of its objects: keys taken apart, blocks found, and the index brought up to date through the worker's blocks.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "core/block_names.hpp"
#include "core/catalog.hpp"
#include "core/digest_names.hpp"
#include "core/event.hpp"
#include "core/lane_blocks.hpp"
#include "core/name_board.hpp"
#include "core/pool_joiner.hpp"

namespace kvc::core {

/// Names that a pool watches from now on, for every engine of the family of partitions to look up among what it has stored before.
struct name_question {
  std::shared_ptr<name_board> board;
  std::vector<engine_hash> names;
};

/// The objects of one pool worker, on the lane that owns it; the pool's half of worker_applier.
///
/// Story: an event names a block, or an object whose key names one (pool_key), or both. Either way it becomes a sighting of an object, and
/// pool_joiner says what that means for the index. Whatever names no block is counted as `unplaced`. What engines tell of names comes in by
/// itself and waits in the inbox until `catch_up_some`. Lane: all members on the owning lane; `wake` of the options is called on any.
class pool_applier final : private pool_joiner::surroundings {
 public:
  struct options {
    std::uint32_t shards = 0;  ///< see pool_layouts
    std::chrono::milliseconds settle{1'000};
    std::size_t max_waiting = 65'536;
    std::function<medium_id()> mixed = {};  ///< the medium of blocks whose parts lie on several; none: they count nowhere
    std::function<void()> wake = {};        ///< engines have told something
    bool copy_counting = false;             ///< as the worker's blocks have it
  };
  /// Finds the partition of what differs from the registration as told; null: there is none for the worker.
  using home_finder = std::function<std::shared_ptr<partition>(const event_scope&)>;

  pool_applier(const options& with, lane_blocks& blocks, std::atomic<media_mask>& media_seen, home_finder find_home);
  ~pool_applier();
  pool_applier(const pool_applier&) = delete;
  pool_applier& operator=(const pool_applier&) = delete;

  /// Whether an event is about objects, or about blocks that only their names tell.
  [[nodiscard]] static bool is_meant(const stored_event& stored) noexcept { return !stored.scope.object_key.empty() || !stored.has_tokens; }
  /// Blocks that the store names, `count` of them from `first` on; their tokens are used where they fit. Precondition: `is_meant`.
  void store(const stored_event& stored, std::size_t first, std::size_t count, medium_id medium, apply_tally& tally);
  /// Takes away what it knows of `names`, which are of the event; replaces `unknown` by the rest.
  void remove(const removed_event& removed, std::span<const engine_hash> names, media_mask from, std::vector<engine_hash>& unknown,
              apply_tally& tally);
  /// Whether a block is held for an object on one of these media, in the worker's blocks under just this name, so that a removal of it
  /// there would be felt: one from a certain partition, if `only` is not null.
  [[nodiscard]] bool keeps(engine_hash name, media_mask on, const partition* only) const;
  /// `medium`: where the object is, if the event lists no replicas; or was, if it is gone from one medium only.
  void apply(const object_event& seen, medium_id medium, apply_tally& tally);

  /// See pool_joiner::clear_some; `only` empty: every partition.
  [[nodiscard]] bool clear_some(media_mask which, std::span<const partition* const> only, std::size_t budget, apply_tally& tally);

  void pass_time(std::chrono::steady_clock::time_point now) { joiner_.pass_time(now); }
  /// Takes in what engines have told, what has become sure, and what that and events have moved, some `budget` records or blocks at a
  /// time. True when all is done.
  [[nodiscard]] bool catch_up_some(std::size_t budget, apply_tally& tally);
  /// Appends what engines have to be asked, no more than `most` names at once. True when something is left.
  bool take_questions(std::vector<name_question>& into, std::size_t most);

  /// Appends the names under which blocks of a partition are known, but for those that are the blocks' own sequence hashes.
  void names_of(const partition_key& home, std::span<const seq_hash> blocks, std::vector<named_block>& into) const;

  [[nodiscard]] pool_joiner::figures now() const noexcept { return joiner_.now(); }

  /// Adds the registration's partition, and those that something known has to do with.
  void collect_homes(std::set<const partition*>& busy) const;
  /// Forgets the partitions that are not among these. Precondition: they were not collected.
  void keep_homes(const std::set<const partition*>& busy);

  /// Forgets every partition but the registration's. False, and nothing done, while anything is known in them.
  bool forget_homes();

 private:
  struct home_entry {
    std::shared_ptr<partition> in;  ///< null: the number is free
    std::size_t board = 0;
  };
  struct board_entry {
    std::shared_ptr<name_board> names;  ///< null: the place is free
    std::shared_ptr<name_listener> inbox;
    std::vector<name_listener::news> news;  ///< taken from the inbox
    std::size_t next = 0;                   ///< of them
    std::vector<engine_hash> questions;
  };

  [[nodiscard]] std::uint16_t home_number(const std::shared_ptr<partition>& in);
  [[nodiscard]] std::uint16_t home_for(const event_scope& scope, const pool_key& key);
  /// What is common to all sightings of an event; its home is `no_home` when there is no partition for it.
  [[nodiscard]] pool_joiner::sighting sighting_of(const event_scope& scope, const pool_key& key);
  [[nodiscard]] std::uint64_t writer_of(const pool_key& key, const event_scope& scope) const;
  [[nodiscard]] engine_hash name_in(const pool_key& key, engine_hash told, std::uint32_t group);

  void hold(std::uint16_t home, engine_hash name, seq_hash block, medium_id medium) override;
  void release(std::uint16_t home, engine_hash name, medium_id medium) override;
  void hold_again(std::uint16_t home, engine_hash name, seq_hash block, medium_id medium) override;
  [[nodiscard]] name_meaning watch(std::uint16_t home, engine_hash name, bool is_home_told) override;
  void unwatch(std::uint16_t home, engine_hash name, bool is_home_told) override;
  [[nodiscard]] std::uint16_t home_of(std::uint16_t home, std::uint16_t adapter) override;
  [[nodiscard]] std::uint64_t seed(std::uint16_t home) const override { return homes_[home].in->seed(); }
  [[nodiscard]] std::optional<medium_id> mixed() override;

  options options_;
  lane_blocks* blocks_;
  std::atomic<media_mask>* media_seen_;
  home_finder find_home_;
  digest_names digests_;
  std::vector<home_entry> homes_;
  std::vector<board_entry> boards_;
  apply_tally* tally_ = nullptr;  ///< of the call under way
  std::vector<local_hash> locals_;
  pool_joiner joiner_;  ///< last: it uses what stands above
};

}  // namespace kvc::core
