// What one worker holds of each run, on its lane: a cutoff where that says it all, bit by bit where it does not.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <boost/container/flat_map.hpp>
#include <boost/container/small_vector.hpp>

#include "core/bring_near.hpp"
#include "core/gradual_map.hpp"
#include "core/ids.hpp"
#include "core/lane_names.hpp"
#include "core/medium.hpp"
#include "core/paged_list.hpp"
#include "core/run_store.hpp"

namespace kvc::core {

/// One worker's part of one run on one medium.
struct holding {
  static constexpr std::uint32_t no_list = 0xFFFF'FFFF;

  /// Kept while the plainly held blocks are not just the first `cutoff` ones, or blocks are held under other names.
  struct exceptions {
    std::vector<std::uint64_t> plain;                              ///< bit per block
    boost::container::flat_map<std::uint32_t, std::uint32_t> odd;  ///< block -> how many odd names mean it
    held_bits* held = nullptr;                                     ///< plain or odd; what readers see
    std::uint32_t count = 0;                                       ///< blocks held
  };

  run* in = nullptr;  ///< pinned; null: unused
  run_store* store = nullptr;
  cell_ref cell;                 ///< none while nothing is held
  std::uint32_t list = no_list;  ///< names under which blocks are plainly held
  std::uint32_t cutoff = 0;      ///< leading blocks held without a break
  std::uint16_t home = 0;        ///< the caller's number of the partition
  medium_id medium{};
  bool is_found_in_run = false;  ///< its run leads to it (run::found_here), not the map
  /// Of the worker on this medium in this partition; none when there were none left. Of an unused one: the next unused one.
  std::uint32_t slot = no_slot;
  std::unique_ptr<exceptions> more;
};

/// A worker's holdings.
///
/// A block is held plainly under a name when that name is written down for it in the list of the holding (see lane_names) and means one
/// copy: then the cutoff, or one bit, is all there is to remember. What else may be (several names, copies, names that the list refuses) is
/// odd: the caller remembers the names, and only the number of odd names per block is kept here. A name that is plain is so at one block
/// only. Every change is published to readers before the call returns. Lane: all members on the worker's lane. What they look at is pinned
/// by the holdings themselves.
class lane_holdings {
 public:
  static constexpr std::uint32_t none = 0xFFFF'FFFF;

  lane_holdings(worker_id worker, std::shared_ptr<lane_names> names);
  /// Precondition: everything has been let go of.
  ~lane_holdings();
  lane_holdings(const lane_holdings&) = delete;
  lane_holdings& operator=(const lane_holdings&) = delete;

  /// Brings near what storing under these names will need; see lane_names.
  void prefetch(std::uint64_t space, std::span<const engine_hash> names) const noexcept { names_->prefetch(space, names); }
  void prefetch(std::uint64_t space, engine_hash name) const noexcept { names_->prefetch(space, name); }
  void prefetch_now(std::uint64_t space, std::span<const engine_hash> names) const noexcept { names_->prefetch_now(space, names); }
  /// Brings near what opening a holding will need first.
  void expect_change() const noexcept {
    if (first_unused_ != none) bring_within_reach(&all_[first_unused_]);
  }
  /// The steps of lane_blocks::expect from the second on.
  void expect(unsigned step, std::uint64_t space, engine_hash name) const noexcept;
  /// A store that ends with this name is being looked ahead for.
  void note_stored_soon(engine_hash last) const noexcept { names_->note_stored_soon(last); }
  /// Whether a removal that begins with `name` needs no looking ahead: it goes on where the last one ended, or the few in between.
  [[nodiscard]] bool is_next_removed(engine_hash name) const noexcept;
  /// Whether a store behind `parent` needs none: the store that ends with it comes first, and has been looked ahead for.
  [[nodiscard]] bool is_next_stored(engine_hash parent) const noexcept { return names_->is_stored_soon(parent); }

  [[nodiscard]] std::uint32_t find(const run* in, medium_id medium) const;
  /// Whether anything may be held in a partition on a medium: not without a slot, since whoever cuts a run would not see it.
  [[nodiscard]] bool may_open(const run_store& store, medium_id medium) const;
  /// The holding of a run, made when there is none. Precondition: the run is pinned, and `may_open`. An empty one must be closed by
  /// `close_if_empty`.
  [[nodiscard]] std::uint32_t open(run_store& store, run* in, std::uint16_t home, medium_id medium);
  /// Answers how many names its list had, if that went with it.
  std::uint32_t close_if_empty(std::uint32_t which);
  /// The same where nothing may be thrown any more: without the memory it takes the holding stays, empty, until somebody opens it or a
  /// clear comes through.
  std::uint32_t try_close_if_empty(std::uint32_t which) noexcept;

  /// Where no holding is in use, gives back the pages they lay on, `budget` of them, which it lowers. True when nothing is left to give
  /// back.
  [[nodiscard]] bool give_back_some(std::size_t& budget) noexcept;

  /// Blocks that go on behind `behind` with `locals` are about to be stored there. Where the run goes on differently and nothing branches
  /// off yet, it is cut off, so that what comes later becomes the run: a trunk that grows step by step, each taken by a worker that leaves
  /// it right behind, would become a run per step otherwise. What is cut off is held by nobody, or, if it is short, by one worker of this
  /// lane, who takes it along into a run of its own. `visits`: how often the caller visits the run just now.
  void make_way(run_store& store, run_place behind, std::span<const local_hash> locals, std::uint32_t visits);
  [[nodiscard]] const holding& at(std::uint32_t which) const noexcept { return all_[which]; }
  /// The names under which a holding's blocks are plainly held. Precondition: it has a list.
  [[nodiscard]] const naming& names_of(const holding& of) const noexcept { return std::as_const(*names_).at(of.list); }

  /// How many blocks from `start` on, which begins no later than the cutoff, now are or already were plainly held under `names` by moving
  /// the cutoff alone: `repeated` were. Stops before anything that needs more.
  struct extended {
    std::uint32_t repeated = 0;
    std::uint32_t added = 0;
  };
  [[nodiscard]] extended extend(std::uint32_t which, std::uint64_t space, std::uint32_t start, std::span<const engine_hash> names);
  /// Whether `extend` would do anything at all for a block at `start`.
  [[nodiscard]] bool may_extend(const run* in, medium_id medium, std::uint32_t start) const;

  /// Holds one block plainly. False, and nothing changed, when the list has or takes no such name for it.
  [[nodiscard]] bool hold_plain(std::uint32_t which, std::uint64_t space, std::uint32_t offset, engine_hash name);
  void release_plain(std::uint32_t which, std::uint32_t offset);
  /// How many of `names`, which begin with the one at block `offset`, are the names of the blocks before or behind it in order, such that
  /// letting go of them all only moves the cutoff of a holding without exceptions: at least 1, or 0 when the holding is not like that.
  /// `end` is one past the highest of these blocks, which is the cutoff.
  [[nodiscard]] std::uint32_t tail_of(std::uint32_t which, std::uint32_t offset, std::span<const engine_hash> names) const;
  /// Every plain block from `start` on at once; what is held under odd names stays.
  void release_plain_from(std::uint32_t which, std::uint32_t start);
  [[nodiscard]] bool is_plain(std::uint32_t which, std::uint32_t offset) const;

  void hold_odd(std::uint32_t which, std::uint32_t offset);
  void release_odd(std::uint32_t which, std::uint32_t offset);

  /// A block that is plainly held on some medium.
  struct plain_block {
    run* in = nullptr;
    std::uint32_t offset = 0;
    std::uint32_t list = 0;
    std::uint16_t home = 0;
  };
  /// The block that `name` plainly means, on any medium.
  [[nodiscard]] std::optional<plain_block> find_plain(std::uint64_t space, engine_hash name);
  /// The holding that holds this block plainly on `medium`; `none` when it does not.
  [[nodiscard]] std::uint32_t plain_on(const plain_block& block, medium_id medium) const;
  /// The same for a name, guessing first that it stands beside the block of the last call, if no other worker had a turn since.
  struct plain_hit {
    std::uint32_t which = none;
    std::uint32_t offset = 0;
  };
  [[nodiscard]] plain_hit find_plain_on(std::uint64_t space, engine_hash name, medium_id medium);
  /// Whether a block plainly held in `which` is plainly held on another medium as well.
  [[nodiscard]] bool is_plain_elsewhere(std::uint32_t which, std::uint32_t offset) const;

  /// While frozen, other workers cannot make these holdings change (see make_way).
  void freeze(bool is_frozen) noexcept { is_frozen_ = is_frozen; }

  /// How often blocks have gone from one holding to another, whose number a walk over all of them may have passed already.
  [[nodiscard]] std::uint64_t moves() const noexcept { return moves_; }
  /// Which holding they went to, in move number `move`, of the last `moves_kept`. It may have been closed, and its number used again.
  [[nodiscard]] std::uint32_t moved_to(std::uint64_t move) const noexcept { return moved_to_[move % moves_kept]; }
  static constexpr std::uint64_t moves_kept = 1'024;

  /// One past the highest number of a holding in use since there was none; unused ones have no run.
  [[nodiscard]] std::uint32_t end() const noexcept { return static_cast<std::uint32_t>(all_.size()); }
  [[nodiscard]] std::size_t size() const noexcept { return in_use_; }
  [[nodiscard]] media_mask media() const noexcept { return media_; }

 private:
  static std::uint64_t key(const run* in, medium_id medium) noexcept {
    return static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(in)) | static_cast<std::uint64_t>(medium);  // runs are aligned to 64
  }
  /// The worker's slot in one partition on one medium, while it has holdings there.
  struct slot_use {
    run_store* store = nullptr;
    std::uint32_t slot = no_slot;
    std::uint32_t holdings = 0;
    medium_id medium{};
  };
  /// A block that names are likely to stand beside, as long as the worker has its turn: what it has to look at leaves the caches then.
  struct bookmark {
    std::uint32_t which = none;
    std::uint32_t offset = 0;
    std::uint64_t turn = 0;
  };
  [[nodiscard]] std::uint32_t begin_slot(run_store& store, medium_id medium);
  void end_slot(run_store& store, medium_id medium);

  [[nodiscard]] static bool may_be_dead_end(const holding& of, std::uint32_t old_cutoff, std::uint32_t cutoff);
  void cut_dead_end(holding& of, std::uint32_t old_cutoff);
  void trim(holding& of);
  void forget_names_behind(const run_store& store, const run& in, std::uint32_t length);
  void prepare_move();
  void take_tail_along(run_store& store, run& from, std::uint32_t length, std::uint32_t slot, medium_id medium, std::uint32_t visits);
  [[nodiscard]] bool note_holding(run* in, medium_id medium, std::uint32_t which);
  void forget_holding(const holding& closed);
  void choose_list(holding& in, std::uint64_t space, std::uint32_t start, engine_hash name);
  void publish(holding& changed);
  void record(holding& of, std::uint32_t offset);
  void change(holding& of, std::uint32_t offset, bool is_held);
  [[nodiscard]] const naming* list_at(const bookmark& of) const noexcept;
  [[nodiscard]] std::uint32_t neighbour(const bookmark& of, std::array<std::int32_t, 3> likely, engine_hash name) const;
  [[nodiscard]] std::uint32_t find_guessing(const run* in, medium_id medium, std::uint32_t guess) const;
  void remember(bookmark& as, std::uint32_t which, std::uint32_t offset);

  worker_id worker_;
  std::shared_ptr<lane_names> names_;
  gradual_map by_run_{arena_kind::holdings};  ///< those that their runs do not lead to
  paged_list<holding, 64, arena_kind::holdings> all_;
  paged_list<holding, 64, arena_kind::holdings> left_;  ///< unused, to be given back
  std::uint32_t first_unused_ = none;                   ///< the others behind it, each in the `slot` of the one before
  std::size_t in_use_ = 0;
  boost::container::small_vector<slot_use, 1> slots_;  ///< few: partitions times media
  media_mask media_ = 0;                               ///< ever used
  bool is_frozen_ = false;
  std::uint64_t moves_ = 0;
  std::vector<std::uint32_t> moved_to_;  ///< by move, the newest in place of the one `moves_kept` before it
  bookmark stored_;                      ///< stored last
  bookmark removed_;                     ///< found last for a removal
  std::uint32_t last_trunk_ = none;  ///< in which a parent was found last that stood beside nothing: often a prompt that many begin with
  mutable std::uint32_t last_found_ = none;  ///< by its block; a guess where a store will go on
};

}  // namespace kvc::core
