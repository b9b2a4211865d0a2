// One worker's private reverse map on its lane: which block each engine hash names, on which media, in how many copies.
#pragma once

#include <array>
#include <boost/container/small_vector.hpp>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/catalog.hpp"
#include "core/ids.hpp"
#include "core/medium.hpp"

namespace kvc::core {

/// How a store says where its first block stands.
enum class store_link : std::uint8_t {
  root,      ///< at position 0
  parent,    ///< behind the block that `parent` names
  standard,  ///< the names are the partition's own sequence hashes, so they say it themselves
  by_name,   ///< not at all: the names must be known from other events (a copy on another medium)
};

/// Consecutive blocks of one chain, ready for the index. Views live during the call.
struct store_command {
  std::shared_ptr<partition> home;
  medium_id medium{};
  store_link link = store_link::root;
  engine_hash parent{};                  ///< for store_link::parent
  std::span<const engine_hash> names;
  std::span<const local_hash> locals;    ///< as many as names for root and parent; empty otherwise
};

/// What calls changed; added up by the caller.
struct apply_tally {
  std::uint64_t stored = 0;            ///< blocks newly held on a medium
  std::uint64_t repeated = 0;          ///< stores of what was held already (a further copy, or a refresh)
  std::uint64_t moved = 0;             ///< names that now mean another block
  std::uint64_t removed = 0;           ///< blocks no longer held on a medium
  std::uint64_t unknown_removals = 0;  ///< removals of names that are not known on that medium
  std::uint64_t orphaned = 0;          ///< blocks whose place is not known yet
  std::uint64_t joined = 0;            ///< orphans whose place became known
  std::uint64_t dropped_orphans = 0;   ///< orphans given up because of the bound
  std::uint64_t skipped = 0;           ///< blocks an event carried that cannot be indexed

  void add(const apply_tally& other) noexcept;
};

/// The blocks of one worker by the names its engine gave them.
///
/// Story: an engine's removal carries only a name, and a store hangs behind a name, so somebody must remember what each name means. On one
/// medium a name means one block, in one partition, or waits for its place to be told, never both; when it is stored at another place it
/// moves there. A parent's name is looked up in the partition of the store; a placeholder (`by_name`) means the block of its name in any
/// partition the worker is a member of. A block whose parent's name is unknown stands where its own name is known to stand, else it is
/// an orphan: it is kept, waits under the parent's name, and joins when that or its own name becomes known, together with everything that
/// waits behind it; orphans are bounded and the oldest go first. A name is forgotten when the last copy on the last medium goes, and a later
/// store behind it is an orphan again until it returns.
///
/// Lane: every member is called on the lane that owns the worker; `prefix_index::hold` and `release` are called from here only.
class lane_blocks {
 public:
  struct options {
    worker_id worker{};
    bool copy_counting = true;         ///< a removal takes one copy away; false: it takes the name away
    std::size_t max_orphans = 65'536;  ///< 0: none are kept
  };

  explicit lane_blocks(options with);
  ~lane_blocks();
  lane_blocks(const lane_blocks&) = delete;
  lane_blocks& operator=(const lane_blocks&) = delete;

  void store(const store_command& command, apply_tally& tally);
  void remove(engine_hash name, medium_id medium, apply_tally& tally);

  /// Forgets what is held on the media of `which`, in `only` (every partition when null), at most `budget` names per call. True when
  /// nothing is left to forget. Between the calls of one clearing no other member that changes anything may be called.
  [[nodiscard]] bool clear_some(media_mask which, const partition* only, std::size_t budget, apply_tally& tally);

  /// Blocks held on a medium, names counted (two names of one block are two).
  [[nodiscard]] std::uint64_t held_on(medium_id medium) const noexcept { return held_[static_cast<std::size_t>(medium)]; }
  [[nodiscard]] std::size_t names() const noexcept { return known_.size(); }
  [[nodiscard]] std::size_t orphans() const noexcept { return waiting_.size(); }

 private:
  struct place {
    seq_hash block{};
    std::uint16_t home = 0;  ///< index into homes_
  };
  struct copy {
    place where;
    std::uint32_t count = 0;
    medium_id medium{};
  };
  /// Ordered by time of the last store: the back one says what the name means for those who hang behind it.
  using copies = boost::container::small_vector<copy, 1>;
  struct orphan {
    std::optional<engine_hash> parent;  ///< absent: waits for its own name
    local_hash local{};
    std::uint16_t home = 0;
    boost::container::small_vector<std::pair<medium_id, std::uint32_t>, 1> copies;
    std::list<engine_hash>::iterator age;
  };

  [[nodiscard]] std::uint16_t home_index(const std::shared_ptr<partition>& home);
  [[nodiscard]] std::optional<place> known_place(engine_hash name, std::uint16_t home) const;  ///< newest in one partition
  [[nodiscard]] std::optional<place> any_place(engine_hash name) const;                          ///< newest of all
  /// True when the name had no place in that partition before, so that something may wait for it.
  [[nodiscard]] bool put(engine_hash name, place where, medium_id medium, std::uint32_t count, apply_tally& tally);
  void place_orphan(engine_hash name, place where, apply_tally& tally);
  void join_waiting(engine_hash first, place at, apply_tally& tally);
  void stop_waiting_elsewhere(engine_hash name, std::uint16_t home, medium_id medium);
  void leave_known_place(engine_hash name, medium_id medium, apply_tally& tally);
  void keep_orphan(engine_hash name, orphan found, medium_id medium, apply_tally& tally);
  void forget_orphan(engine_hash name);
  void unlink_from_parent(engine_hash child, const orphan& which);
  void let_go(const copy& which);

  options options_;
  std::vector<std::shared_ptr<partition>> homes_;
  std::unordered_map<engine_hash, copies> known_;
  std::unordered_map<engine_hash, copies>::iterator clearing_;
  bool is_clearing_ = false;
  std::unordered_map<engine_hash, orphan> waiting_;
  std::unordered_multimap<engine_hash, engine_hash> children_;  ///< parent's name -> names of orphans behind it
  std::list<engine_hash> orphan_ages_;                          ///< oldest first
  std::array<std::uint64_t, max_media> held_{};
};

}  // namespace kvc::core
