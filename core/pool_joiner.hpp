// Objects of a store to blocks of the index: which block each object is of, and when all parts of a block are there.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/block_names.hpp"
#include "core/gradual_map.hpp"
#include "core/ids.hpp"
#include "core/link_forest.hpp"
#include "core/medium.hpp"
#include "core/name_board.hpp"
#include "core/pool_layouts.hpp"
#include "core/slab.hpp"

namespace kvc::core {

/// What one pool worker holds, object by object.
///
/// Story: an object is a *part* of a block, or all of it. A block has a *name*, and the name is *placed* when it is known which block of
/// the index it means: by its tokens (behind a parent that is placed, or at the root), else by what the partition's engines call it, else,
/// where the name may be one, as its own sequence hash. Objects of one name and one layout are a *record*. A record that is placed and has
/// all parts its layout needs on one medium is held there in the index; if it has them all, but on several media, it is held on the medium
/// `mixed`. A name that engines use for different blocks is held nowhere. What is known of a name stays while the pool has an object of it.
/// A name whose place changes is moved at once; those behind it follow in `refresh_some`, and are held where they were until their turn
/// comes: one event may move a whole chain, and chains are as long as prompts. When that is done each is where its parent's place puts it.
/// Bounds: `max_objects`, and `max_waiting` records whose name is not placed; those told of least recently go first, are counted, and come
/// back when the store tells of them again. Pure; one owner.
class pool_joiner {
 public:
  using time_point = pool_layouts::time_point;

  /// The index and the engines, as the joiner sees them. Homes are the caller's numbers of partitions.
  class surroundings {
   public:
    virtual void hold(std::uint16_t home, engine_hash name, seq_hash block, medium_id medium) = 0;
    virtual void release(std::uint16_t home, engine_hash name, medium_id medium) = 0;
    /// The store has told again of what is held: it may have been given up for want of memory.
    virtual void hold_again(std::uint16_t home, engine_hash name, seq_hash block, medium_id medium) = 0;
    /// From now on the caller passes on what engines tell of the name, those of the home's adapter only where the home was told; the answer
    /// is what they have told before.
    [[nodiscard]] virtual name_meaning watch(std::uint16_t home, engine_hash name, bool is_home_told) = 0;
    virtual void unwatch(std::uint16_t home, engine_hash name, bool is_home_told) = 0;
    /// The home of an adapter's blocks; `no_home` when there is none.
    [[nodiscard]] virtual std::uint16_t home_of(std::uint16_t home, std::uint16_t adapter) = 0;
    [[nodiscard]] virtual std::uint64_t seed(std::uint16_t home) const = 0;
    /// The medium of blocks whose parts lie on several; none: they count nowhere.
    [[nodiscard]] virtual std::optional<medium_id> mixed() = 0;

   protected:
    ~surroundings() = default;
  };
  static constexpr std::uint16_t no_home = 0xFFFF;

  struct options {
    std::size_t max_objects = 4'194'304;
    std::size_t max_waiting = 65'536;
    pool_layouts::options layouts;
  };

  /// An object was seen. Views live during the call.
  struct sighting {
    std::uint64_t object = 0;  ///< its identity
    std::uint16_t home = 0;
    bool is_home_told = false;  ///< it was said whose block it is: engines of other adapters cannot say otherwise
    engine_hash name{};         ///< of its block, the last one if it holds several
    std::uint64_t layout = 0;   ///< see pool_layouts::find
    block_part part;
    std::uint32_t ranks = 0;
    bool has_parts = false;
    bool may_be_sequence = false;         ///< the name may be the block's own sequence hash
    const engine_hash* parent = nullptr;  ///< of the first block; null with `locals`: it is at the root
    std::span<const local_hash> locals;   ///< of its blocks; empty: the tokens are not known
  };

  pool_joiner(const options& with, surroundings& around);

  /// The object is on these media now, besides those known unless `only`; on none: it is gone.
  void put(const sighting& seen, media_mask on, bool only);
  [[nodiscard]] bool knows(std::uint64_t id) const { return objects_by_id_.find(id) != nullptr; }
  /// The same for an object that is known. Nothing happens when it is not.
  void move(std::uint64_t id, media_mask to, bool only);
  /// It is no longer on these media. False when it was not known on any of them.
  bool remove(std::uint64_t id, media_mask from);
  /// A block is no longer on these media, whatever objects it is: somebody says so who names no object. False when none of it was known
  /// there.
  bool remove_block(std::uint16_t home, engine_hash name, media_mask from);
  /// Whether `around` holds a block on one of these media under just this name, so that a removal in `only` would take it: one elsewhere
  /// as well, unless the name is its own sequence hash.
  [[nodiscard]] bool keeps(engine_hash held_as, media_mask on, std::optional<std::uint16_t> only) const;
  /// Engines have told of a name that is watched in this home, in answer to just such a watch. Nothing happens when it no longer is.
  void tell(std::uint16_t home, engine_hash name, bool is_home_told, const name_meaning& means);
  /// Appends the names that are placed at a block, but for the name that is the block's own sequence hash.
  void names_of(std::uint16_t home, seq_hash block, std::vector<engine_hash>& into) const;

  void pass_time(time_point now);
  /// Brings the index up to what the layouts and the places of parents have become, looking at about `budget` records or blocks. True when
  /// it is.
  [[nodiscard]] bool refresh_some(std::size_t budget);

  /// Forgets what is on these media in the homes that `is_meant` accepts, looking at no more than `budget` records per call. True when
  /// done; until then the same must be passed, and nothing else called. With all media and every home (null) layouts are forgotten as well.
  [[nodiscard]] bool clear_some(media_mask which, const std::function<bool(std::uint16_t)>& is_meant, std::size_t budget);

  struct figures {
    std::size_t objects = 0;
    std::size_t waiting = 0;     ///< records whose name is not placed, doubtful ones included
    std::size_t doubtful = 0;    ///< names that mean different blocks
    std::size_t incomplete = 0;  ///< records that are placed and of which a part is missing, or may be
    std::size_t unsure = 0;      ///< layouts of which further parts are waited for
    std::uint64_t joined = 0;    ///< records whose name an engine has placed
    std::uint64_t dropped = 0;   ///< records given up because of a bound
  };
  [[nodiscard]] figures now() const noexcept;
  /// Whether it knows of nothing, so that no number of a home is in use.
  [[nodiscard]] bool is_empty() const noexcept { return objects_.size() == 0 && nodes_by_name_.size() == 0; }
  /// Whether anything that is known has to do with a home; if not, its number may mean another one from now on.
  [[nodiscard]] bool uses(std::uint16_t home) const noexcept { return home < home_users_.size() && home_users_[home] != 0; }

 private:
  enum class state : std::uint8_t { waiting, placed, doubtful };
  struct node {
    engine_hash name{};
    seq_hash block{};
    name_meaning told;                                ///< by engines; its adapter is that of `told_home`
    std::unique_ptr<std::vector<seq_hash>> before;    ///< blocks in front of `block`, when an object holds several
    std::unique_ptr<std::vector<local_hash>> locals;  ///< by tokens
    std::uint32_t parent = no_record;                 ///< with locals; none: root
    std::uint32_t first_child = no_record;
    std::uint32_t next_child = no_record;
    std::uint32_t previous_child = no_record;
    std::uint32_t next_to_follow = no_record;  ///< the child from which on they have not yet followed it to where it is
    std::uint32_t first_record = no_record;
    std::uint16_t home = 0;  ///< where it is watched
    std::uint16_t told_home = 0;
    std::uint16_t placed_home = 0;
    state is = state::waiting;
    bool may_be_sequence = false;
    bool is_watched = false;
    bool is_home_told = false;  ///< then its adapter's engines are the only ones who can explain it
    bool is_followed = false;   ///< it is in `moved_`
  };
  struct record {
    std::uint32_t named = no_record;  ///< its node; none: not in use
    std::uint32_t next = no_record;   ///< of the node
    std::uint32_t first_object = no_record;
    std::uint32_t older = no_record;
    std::uint32_t newer = no_record;
    pool_layouts::number layout = 0;
    std::uint16_t any = 0;  ///< objects
    media_mask held = 0;
    bool is_waiting = false;  ///< in which of the two orders it stands
    bool is_incomplete = false;
    std::array<std::uint16_t, max_media> on{};  ///< objects by medium
  };
  struct object {
    std::uint64_t id = 0;
    std::uint32_t in = no_record;  ///< its record
    std::uint32_t next = no_record;
    std::uint32_t previous = no_record;
    media_mask media = 0;
  };
  struct order {
    std::uint32_t oldest = no_record;
    std::uint32_t newest = no_record;
    std::size_t count = 0;
  };
  struct where {
    state is = state::waiting;
    std::uint16_t home = 0;
    std::vector<seq_hash> blocks;
  };

  [[nodiscard]] static std::uint64_t key_of(std::uint16_t home, engine_hash name) noexcept;
  [[nodiscard]] engine_hash held_name(const record& of, std::size_t from_end) const noexcept;
  [[nodiscard]] std::uint32_t node_of(std::uint16_t home, engine_hash name);
  void set_home(std::uint16_t& which, std::uint16_t to);
  [[nodiscard]] std::uint32_t record_of(std::uint32_t named, pool_layouts::number layout);
  void take_tokens(std::uint32_t number, const sighting& seen);
  void watch(std::uint32_t number);
  void tell_home(std::uint32_t number);
  [[nodiscard]] bool is_told_by_tokens(const node& which) const;
  [[nodiscard]] where place_of(const node& which) const;
  std::size_t place(std::uint32_t number);
  [[nodiscard]] bool follow_some(std::size_t& budget);
  void note_place(std::uint32_t number, bool is_there);
  void link_to(std::uint32_t parent, std::uint32_t child);
  void unlink_from_parent(std::uint32_t child);
  void erase_unused(std::uint32_t number);
  void set_media(std::uint32_t number, media_mask media);
  void erase_object(std::uint32_t number);
  void refresh(std::uint32_t number);
  enum class holding : std::uint8_t { begins, goes_on, ends };
  void hold(const record& which, media_mask on, holding how);
  void drop(std::uint32_t number);
  void keep_bounds();
  void link(std::uint32_t number, bool is_waiting);
  void unlink(std::uint32_t number);

  options options_;
  surroundings* around_;
  pool_layouts layouts_;
  slab<node> nodes_;
  link_forest chains_;  ///< of nodes behind their parents
  slab<record> records_;
  slab<object> objects_;
  gradual_map nodes_by_name_{arena_kind::objects};
  gradual_map objects_by_id_{arena_kind::objects};
  std::vector<std::size_t> home_users_{0};  ///< by home: how often nodes name it
  block_names nodes_by_block_;              ///< of placed nodes, where the name is not the block itself
  /// Names whose children have still to follow; numbers that are not, or mean another name by now, lead to nothing. First come, first
  /// served: what was moved twice, above and below, is mostly passed once.
  std::deque<std::uint32_t> moved_;
  order waiting_;
  order placed_;
  std::uint32_t records_made_ = 0;  ///< one past the highest number of a record
  std::uint32_t to_refresh_ = 0;    ///< records from this number on down are still to be looked at
  std::uint32_t to_clear_ = no_record;
  time_point now_{};
  figures figures_;
};

}  // namespace kvc::core
