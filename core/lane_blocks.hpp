// One worker's private reverse map on its lane: which block each engine hash names, on which media, in how many copies.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include <boost/container/small_vector.hpp>

#include "core/catalog.hpp"
#include "core/eviction.hpp"
#include "core/ids.hpp"
#include "core/lane_holdings.hpp"
#include "core/lane_names.hpp"
#include "core/medium.hpp"
#include "core/name_map.hpp"
#include "core/orphan_line.hpp"
#include "core/snapshot.hpp"
#include "core/store_command.hpp"

namespace kvc::core {

struct event_scope;

/// The blocks of one worker by the names its engine gave them.
///
/// Story: an engine's removal carries only a name, and a store hangs behind a name, so somebody must remember what each name means. On one
/// medium a name means one block, in one partition, or waits for its place to be told, never both; when it is stored at another place it
/// moves there. A name by the standard is the exception: it leaves out the adapter and the salt, so it may stand in several partitions at
/// once, and a removal means the one it names. A parent's name is looked up in the partition of the store; a placeholder (`by_name`) means
/// the block of its name in any partition the worker is a member of. A block whose parent's name is unknown stands where its own name is
/// known to stand, else it is an orphan: it is kept, waits under the parent's name, and joins when that or its own name becomes known,
/// together with everything that waits behind it; orphans are bounded, by stream, and those told of least recently go first. A name is
/// forgotten when the last copy on the last medium goes, and a later store behind it is an orphan again until it returns.
///
/// Most blocks are plain (see lane_holdings) and cost no memory per worker; names that mean something a list cannot tell are odd and kept
/// here, as are blocks known by their sequence hash only.
///
/// Lane: every member is called on the lane that owns the worker; the index is written from here only. The destructor lets go of what is
/// still held, all at once: use `clear_some` first where that would take too long.
class lane_blocks {
 public:
  struct options {
    worker_id worker{};
    bool copy_counting = true;                  ///< a removal takes one copy away; false: it takes the name away
    std::size_t max_orphans = 65'536;           ///< 0: none are kept; where no line is given
    std::shared_ptr<lane_names> lane = {};      ///< names shared with the other workers of the lane; null: the worker has its own
    std::shared_ptr<orphan_line> orphans = {};  ///< with the other workers of the stream, whose bound it keeps; null: one of its own
    bool explains_names = false;                ///< tells the pools of a partition what the names mean that they watch (see name_board)
  };

  explicit lane_blocks(options with);
  ~lane_blocks();
  lane_blocks(const lane_blocks&) = delete;
  lane_blocks& operator=(const lane_blocks&) = delete;

  /// Brings near what applying an event with these names will need: `step` 1 to 4 in order, each some hundred nanoseconds after the one
  /// before, while earlier events are applied; step 0, before them, where events of other workers come in between. `parent` may be null; of
  /// a removal, the first name leads. Changes nothing; not calling it costs time only.
  void expect(unsigned step, const engine_hash* parent, std::span<const engine_hash> names) const noexcept;

  void store(const store_command& command, apply_tally& tally);

  /// How far `store_some` has come.
  struct stored_part {
    std::size_t names = 0;  ///< of the command's, from the first on
    bool has_room = true;   ///< false: there is none for the rest, which has been counted as skipped
  };
  /// As `store`, but looks at no more than `joins` orphans, which it lowers: of those that wait for one shared prompt there may be tens of
  /// thousands. Until `join_some` has answered true nothing else may be called that changes anything; then the rest of the command may be
  /// stored behind its last name. Who gives up instead clears everything.
  [[nodiscard]] stored_part store_some(const store_command& command, std::size_t& joins, apply_tally& tally);
  /// Goes on with what has become known by `store_some`, looking at no more than `joins` orphans. True when nothing is left to join.
  [[nodiscard]] bool join_some(std::size_t& joins, apply_tally& tally);

  /// What a removal says of the partition it means. Matters to names by the standard only, which may stand in several.
  struct removal_scope {
    const partition* home = nullptr;     ///< looked at first; null: the newest place of a name is meant
    bool is_explicit = false;            ///< nothing is meant but what stands there
    const event_scope* named = nullptr;  ///< nothing is meant but what stands in partitions of the dimensions it names; null: in any
    bool any_size = false;               ///< the size of blocks that it names is none of those dimensions
  };
  void remove(std::span<const engine_hash> names, medium_id medium, apply_tally& tally) { remove(names, medium, {}, tally); }
  void remove(std::span<const engine_hash> names, medium_id medium, const removal_scope& from, apply_tally& tally);

  /// The block that a name means now; absent when it means none. The newest, where it means several.
  struct meaning {
    const partition* home = nullptr;
    seq_hash block{};
  };
  [[nodiscard]] std::optional<meaning> meaning_of(engine_hash name);
  /// The block that it means now in each partition where it means one, the newest first; `into` is replaced.
  void meanings_of(engine_hash name, std::vector<meaning>& into);
  /// Whether a copy of it waits for its place.
  [[nodiscard]] bool is_waiting(engine_hash name) const { return waiting_.contains(name); }
  /// `hear` is told of each name that has waited and has got its place, in the middle of the store that gave it one: it must call
  /// nothing here.
  void on_join(std::function<void(engine_hash)> hear) { on_join_ = std::move(hear); }

  /// Whether all of these names are held in a partition on this medium.
  [[nodiscard]] bool are_all_on(std::span<const engine_hash> names, const partition& home, medium_id medium);

  /// Copies of a name, by medium, that have been told of without a place and wait for one: they wait no longer. Empty when there are none.
  [[nodiscard]] std::vector<std::pair<medium_id, std::uint32_t>> take_placeholders(engine_hash name);

  /// Goes on along a prompt of one partition that is told by the engines' names for its blocks: appends what `names` mean from
  /// `blocks.size()` on, up to the first that neither this worker nor, for the pools, the partition's name_board knows, and no more than
  /// `budget` of them, which it lowers. Does nothing for a worker that has never held anything there.
  void follow(const partition& home, std::span<const engine_hash> names, std::vector<seq_hash>& blocks, std::size_t& budget);

  /// Forgets what is held on the media of `which`, in the partitions of `only` (in every one when empty), looking at no more than `budget`
  /// names per call. True when nothing is left to forget. Between the calls of one clearing no other member that changes anything may be
  /// called.
  [[nodiscard]] bool clear_some(media_mask which, std::span<const partition* const> only, std::size_t budget, apply_tally& tally);

  /// Adds the partitions in which something is held or waits. Looks at all that waits.
  void collect_homes(std::set<const partition*>& busy) const;
  /// Partitions that come later take the places of all but these. Precondition: nothing is held and nothing waits in the others.
  void keep_homes(const std::set<const partition*>& busy);

  /// Appends what is held and what waits in the cursor's partitions, some `budget` blocks per call, more by at most a run and those before
  /// it. True when nothing is left to tell. Anything may be called in between: what is stored, moved or removed meanwhile may be told or
  /// not, and a name twice, of which the later record counts; with nothing changed the dump is exact. A cursor that was used for another
  /// worker has nothing left to tell. The way back: snapshot_loader.
  [[nodiscard]] bool dump_some(dump_cursor& at, std::size_t budget, dump_slice& into) const;

  /// Makes this worker's part of a pass: gives up what waits, if the pass does, then lets go of what it holds of condemned runs, whole,
  /// names included, and of names that mean more than one block with all they mean, since half a name would be a wrong one. Looks at or
  /// lets go of `budget` blocks per call, more by at most a run, and lowers it by them; `before_first` is called before the first one goes.
  /// True when the worker is through with the pass; anything may be called in between. A worker whose clearing is under way is
  /// passed over.
  /// `tally.removed` counts the blocks, `tally.dropped_orphans` those that waited.
  [[nodiscard]] bool evict_some(eviction_pass& pass, std::size_t& budget, const std::function<void()>& before_first, apply_tally& tally);

  /// Approximate bytes kept for this worker alone: holdings, odd names and what waits.
  [[nodiscard]] std::size_t bytes() const noexcept;
  /// The part of them that goes with what waits.
  [[nodiscard]] std::size_t waiting_bytes() const noexcept;

  /// Blocks held on a medium, names counted (two names of one block are two).
  [[nodiscard]] std::uint64_t held_on(medium_id medium) const noexcept { return held_[static_cast<std::size_t>(medium)]; }
  [[nodiscard]] std::size_t names() const noexcept { return known_; }
  [[nodiscard]] std::size_t orphans() const noexcept { return waiting_.size(); }

 private:
  void remove_one(engine_hash name, medium_id medium, const removal_scope& from, apply_tally& tally);
  /// Where a block stands: in a run, or nowhere but under its sequence hash.
  struct place {
    run_place where;         ///< null run: known by `block` only
    seq_hash block{};        ///< when the run is null
    std::uint16_t home = 0;  ///< index into homes_
  };
  struct copy {
    place where;
    std::uint32_t count = 0;
    medium_id medium{};
  };
  /// Of an odd name, ordered by time of the last store: the last one, of those on a medium first, says what the name means for those who
  /// hang behind it on that medium.
  using copies = boost::container::small_vector<copy, 1>;
  struct orphan {
    std::optional<engine_hash> parent;  ///< absent: waits for its own name
    local_hash local{};
    std::uint16_t home = 0;
    boost::container::small_vector<std::pair<medium_id, std::uint32_t>, 1> copies;
    orphan_line::list::iterator age;
  };

  /// A name whose place has become known, with what waits behind it not yet placed.
  struct arrival {
    engine_hash name{};
    place here;
    engine_hash next_child{};  ///< those of lower names have been looked at
    bool is_last = false;      ///< all have
  };

  /// Where the worker's part of a pass of eviction stands.
  struct eviction_walk {
    std::uint64_t pass = 0;
    std::uint32_t holdings = 0;  ///< still to be looked at, from the highest number down
    name_walk odd_names;
  };

  [[nodiscard]] std::uint16_t home_index(const std::shared_ptr<partition>& home);
  void count_held(std::uint16_t home, medium_id medium, std::uint64_t more);
  void count_gone(std::uint16_t home, medium_id medium, std::uint64_t fewer);
  [[nodiscard]] run_store& runs_of(std::uint16_t home) { return homes_[home]->index().runs(); }
  [[nodiscard]] bool is_same_block(const place& left, const place& right) const;
  /// Newest in one partition: on `first_on` where it has a place there, since other tiers may tell a block without its parent or with
  /// another.
  [[nodiscard]] std::optional<place> known_place(engine_hash name, std::uint16_t home, std::optional<medium_id> first_on = std::nullopt);
  [[nodiscard]] std::optional<place> any_place(engine_hash name);  ///< newest of all
  [[nodiscard]] seq_hash hash_of(const place& of) const;
  void explain(engine_hash name, const place& here) const;
  void explain(std::span<const engine_hash> names, std::span<const local_hash> locals, const run_stretch& where, std::uint16_t home) const;
  void store_one(engine_hash name, const place& here, medium_id medium, apply_tally& tally);
  [[nodiscard]] run_stretch store_stretch(const place* behind, std::uint32_t visits, const store_command& command, std::size_t from,
                                          std::size_t to, std::uint16_t home, apply_tally& tally);
  [[nodiscard]] std::size_t end_of_unawaited(std::span<const engine_hash> names, std::size_t from) const;
  [[nodiscard]] std::optional<place> place_of(const store_command& command, std::size_t which, std::uint16_t home,
                                              const std::optional<place>& previous);
  void hold_stretch(const run_stretch& part, std::span<const engine_hash> names, std::uint16_t home, medium_id medium, apply_tally& tally);
  [[nodiscard]] std::uint32_t store_plainly(const run_stretch& part, std::uint32_t done, std::span<const engine_hash> names,
                                            std::uint16_t home, medium_id medium, apply_tally& tally);
  /// True when the name had no place in that partition before, so that something may wait for it.
  [[nodiscard]] bool put(engine_hash name, const place& where, medium_id medium, std::uint32_t count, apply_tally& tally);
  [[nodiscard]] bool put_odd(engine_hash name, copies& all, const copy& now, apply_tally& tally);
  /// Whether a name says by itself where a block stands, but for the partition, as those by the standard do.
  [[nodiscard]] bool says_place(engine_hash name, const place& of) const { return hash_of(of).get() == name.get(); }
  /// Whether a removal may mean what stands in the partition with this index into homes_.
  [[nodiscard]] bool is_within(std::uint16_t home, const removal_scope& from) const;
  [[nodiscard]] bool may_be_meant(engine_hash name, const place& of, const removal_scope& from) const;
  [[nodiscard]] copies::iterator removed_copy(engine_hash name, copies& all, medium_id medium, const removal_scope& from) const;
  [[nodiscard]] bool put_plain(engine_hash name, const place& where, medium_id medium);
  copies& make_odd(engine_hash name, const lane_holdings::plain_block& block);
  void hold_odd(const copy& which);
  void place_orphan(engine_hash name, const place& where, apply_tally& tally);
  void join_waiting(engine_hash first, const place& at, apply_tally& tally);
  /// Whether something waits behind this name.
  [[nodiscard]] bool is_awaited(engine_hash name) const;
  void arrive(engine_hash name, const place& here);
  void leave_arrived();
  void forget_arrivals();
  [[nodiscard]] bool has_arrivals() const noexcept { return !arrived_.empty(); }
  [[nodiscard]] std::optional<engine_hash> next_waiting(arrival& behind, std::size_t& budget);
  void stop_waiting_elsewhere(engine_hash name, const place& where, medium_id medium);
  /// Forgets what a name means on a medium; `but_own_hash`: except where it is the block's own sequence hash.
  void leave_known_place(engine_hash name, medium_id medium, bool but_own_hash, apply_tally& tally);
  void keep_orphan(engine_hash name, orphan found, medium_id medium, apply_tally& tally);
  void forget_orphan(engine_hash name);
  void unlink_from_parent(engine_hash child, const orphan& which);
  /// Answers how many names went with the list in which the block was the last.
  std::uint32_t let_go(const copy& which);
  void let_go_plain(std::uint32_t which, std::uint32_t offset);
  [[nodiscard]] std::size_t remove_tail(std::span<const engine_hash> names, medium_id medium, const removal_scope& from,
                                        apply_tally& tally);
  void forget_counts();
  /// False when the budget was used up before the holding was.
  [[nodiscard]] bool clear_holding(std::uint32_t which, std::size_t& budget, apply_tally& tally);
  [[nodiscard]] bool give_up_waiting(eviction_pass& pass, std::size_t& budget, const std::function<void()>& before_first,
                                     apply_tally& tally);
  void evict_holding(std::uint32_t which, eviction_pass& pass, std::size_t& budget, const std::function<void()>& before_first,
                     apply_tally& tally);
  void evict_odd(engine_hash name, eviction_pass& pass, const std::function<void()>& before_first, apply_tally& tally);
  [[nodiscard]] std::size_t clear_odd(engine_hash name, media_mask which, std::span<const partition* const> only, apply_tally& tally);
  [[nodiscard]] bool clear_orphans(media_mask which, std::span<const partition* const> only, std::size_t& budget);
  [[nodiscard]] bool is_among(std::uint16_t home, std::span<const partition* const> only) const;
  void begin_dump(dump_cursor& at) const;
  [[nodiscard]] bool is_told(std::uint16_t home, const dump_cursor& at) const;
  void dump_waiting(engine_hash name, const dump_cursor& at, dump_slice& into) const;
  [[nodiscard]] bool find_runs(dump_cursor& at, std::size_t budget, std::size_t& spent) const;
  static void find_run(run* held, std::uint16_t home, dump_cursor& at, std::size_t& spent);
  void dump_chain(run* held, dump_cursor& at, dump_slice& into) const;
  void dump_run(run* told, dump_cursor& at, dump_slice& into) const;
  void dump_odd(engine_hash name, const copies& all, const dump_cursor& at, dump_slice& into) const;

  friend class snapshot_loader;

  options options_;
  // Mostly one, which lies here: a worker whose turn it was not for a while has all its memory to bring near.
  boost::container::small_vector<std::shared_ptr<partition>, 1> homes_;
  boost::container::small_vector<std::shared_ptr<entry_count::part>, 1> entries_;  ///< held in each home
  boost::container::small_vector<bool, 1> is_free_;  ///< by home: nothing is in it, and the next new one takes its place
  std::uint64_t space_ = 0;                          ///< the worker's names are told apart from those of other spaces on the lane
  lane_holdings holdings_;
  name_map<copies> odd_;   ///< the whole truth about each name in it
  std::size_t known_ = 0;  ///< names, plain and odd
  bool is_clearing_ = false;
  std::uint32_t holdings_to_clear_ = 0;  ///< the clearing under way has still to look at those below this number
  name_walk odd_to_clear_;
  name_walk orphans_to_clear_;
  eviction_walk evicting_;
  name_map<orphan> waiting_;
  /// A parent's name with that of an orphan behind it. In order, since after a loss all branches wait behind one shared prompt, and each of
  /// them is found by itself when it is given up.
  std::set<std::pair<engine_hash, engine_hash>> children_;
  std::shared_ptr<orphan_line> ages_;  ///< never null
  std::vector<arrival> arrived_;       ///< the newest last, each with its run pinned
  std::array<std::uint64_t, max_media> held_{};
  std::function<void(engine_hash)> on_join_;  ///< may be empty
};

}  // namespace kvc::core
