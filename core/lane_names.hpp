// What the engines of one lane call the blocks of runs: one list of names per run and way of naming, shared by all workers that agree with
// it.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "core/ids.hpp"
#include "core/name_table.hpp"
#include "core/paged_list.hpp"

namespace kvc::core {

struct run;
class lane_holdings;

/// Where a name is written down: in which list, for which block of its run.
struct name_spot {
  std::uint32_t list = 0;    ///< below 2^24
  std::uint32_t offset = 0;  ///< of the block in its run

  friend bool operator==(const name_spot&, const name_spot&) = default;
};

/// The names of consecutive blocks of one run, from block `first` on. One cache line, but for the names themselves.
struct alignas(64) naming {
  run* in = nullptr;             ///< null: unused, may be given out again
  engine_hash* names = nullptr;  ///< in the arena
  std::uint32_t count = 0;
  std::uint32_t capacity = 0;
  std::uint64_t space = 0;  ///< names are compared within a space only
  std::uint32_t users = 0;  ///< holdings that count on these names; each pins the run
  /// Block of the first name; of a further number (see `goes_on_for`), the how manieth 256 names it stands for;
  /// of an unused one, the next that is unused.
  std::uint32_t first = 0;
  std::unique_ptr<std::vector<std::uint32_t>> gaps;  ///< offsets whose name is written here but cannot be found; sorted; almost always null
  /// A place in the table has 8 bits for names of one list, so a list with more takes another number for each 256 names: these.
  std::unique_ptr<std::vector<std::uint32_t>> further;
  std::uint32_t goes_on_for = no_list;  ///< not a list of its own: a further number of this one
  /// A guess, in the numbers of the worker who was here last: the holding that it found or stored into. To be checked, more so by others.
  std::uint32_t last_holding = 0;

  static constexpr std::uint32_t no_list = 0xFFFF'FFFF;

  /// One past the last named block.
  [[nodiscard]] std::uint32_t end() const noexcept { return first + count; }
  /// Whether block `offset` has a name here and it is this one.
  [[nodiscard]] bool has(std::uint32_t offset, engine_hash name) const noexcept {
    return offset >= first && offset < end() && names[offset - first] == name;
  }
  /// How many of `wanted` the list has from `offset` backwards: names of blocks `offset`, `offset` - 1 ...
  [[nodiscard]] std::uint32_t common_backwards(std::uint32_t offset, std::span<const engine_hash> wanted) const noexcept {
    if (offset < first || offset >= end()) return 0;
    const engine_hash* const here = names + (offset - first);
    const std::size_t most = std::min<std::size_t>(wanted.size(), offset - first + 1);
    std::size_t same = 0;
    while (same < most && *(here - same) == wanted[same]) ++same;
    return static_cast<std::uint32_t>(same);
  }
  [[nodiscard]] std::span<const engine_hash> all() const noexcept { return {names, count}; }
};

/// The names of one lane.
///
/// Story: engines with the same seed call the same block by the same name, so a name is written down once per lane and block, not once per
/// worker: in the list of its run, and in the table that leads there. A worker that holds the beginning of a run under the names of its
/// list needs no memory per block. Within one space (workers of one base partition) a name leads to one spot at most; a second use of the
/// same name for another block is refused here, and the worker remembers it by itself. Lane: belongs to one lane; shared by the lane_blocks
/// of its workers.
class lane_names final : private named_records {
 public:
  lane_names() = default;
  ~lane_names();
  lane_names(const lane_names&) = delete;
  lane_names& operator=(const lane_names&) = delete;

  /// Where `name` is written down in `space`.
  [[nodiscard]] std::optional<name_spot> find(std::uint64_t space, engine_hash name) const;

  /// Brings near what `find`, `fit` or `close` will need first for these names; worth it some hundred nanoseconds ahead.
  void prefetch(std::uint64_t space, std::span<const engine_hash> names) const noexcept;
  /// The same for a name that is only looked for, or is not an event's.
  void prefetch(std::uint64_t space, engine_hash name) const noexcept { table_.prefetch({&name, 1}, name_hasher(space)); }

  /// A store that ends with this name is being looked ahead for.
  void note_stored_soon(engine_hash last) const noexcept { stored_soon_[stored_soon_at_++ % stored_soon_.size()] = last; }
  /// Whether a store that ends with this name was one of the last few looked ahead for. A wrong yes costs time only.
  [[nodiscard]] bool is_stored_soon(engine_hash last) const noexcept {
    bool is_one = false;
    for (const engine_hash each : stored_soon_) is_one |= each == last;  // all of them, which takes no jump
    return is_one;
  }

  /// The same for an event that is applied now: not again for names that have been asked for while it was still to come.
  void prefetch_now(std::uint64_t space, std::span<const engine_hash> names) const noexcept;

  /// Follows `name` from the table to its list (step 2), from its list to its run (step 3), and from there to its column (step 4), bringing
  /// near what comes next. A guess: the name is not compared. Answers `naming::last_holding` at step 3, and else `naming::no_list`.
  std::uint32_t expect(unsigned step, std::uint64_t space, engine_hash name) const noexcept;

  /// The reference stays valid until the list is closed.
  [[nodiscard]] naming& at(std::uint32_t list) noexcept { return numbered_[list]; }
  [[nodiscard]] const naming& at(std::uint32_t list) const noexcept { return numbered_[list]; }

  /// A new, empty list for `in`, from block `first` on. It has no users yet.
  [[nodiscard]] std::uint32_t open(run* in, std::uint64_t space, std::uint32_t first);
  /// Forgets a list without users.
  void close(std::uint32_t list);
  /// Forgets the names of the blocks from `end` on, which nobody counts on any more.
  void shorten(std::uint32_t list, std::uint32_t end);

  /// Whether the next list that is opened can have names that are found: there are numbers for 2^24 lists.
  [[nodiscard]] bool may_open() const noexcept { return (first_unused_ == naming::no_list ? end_ : first_unused_) < most_lists; }
  /// The names of `count` blocks from `start` on, at most `most_handed_over`, go over to `to`, an empty list of the same space, as its
  /// first; those behind them are forgotten, so that `from` ends at `start`. Precondition: they have names there, none of which is a gap;
  /// `to` was opened when there was room for it.
  void hand_over(std::uint32_t from, std::uint32_t start, std::uint32_t count, std::uint32_t to);
  static constexpr std::uint32_t most_handed_over = 256;  ///< as many as one number takes

  /// How many of `names` the blocks from `offset` on bear, or could be given, in this list: compares those that have a name and appends the
  /// others. Stops at the first that differs or is refused. `offset` is at most the list's end, else nothing is accepted.
  [[nodiscard]] std::uint32_t fit(std::uint32_t list, std::uint32_t offset, std::span<const engine_hash> names);

  /// Who works on this lane: holdings of other workers, which may be asked to make way (see lane_holdings::make_way).
  void enroll(worker_id worker, lane_holdings* holdings) { colleagues_[worker] = holdings; }
  void dismiss(worker_id worker) { colleagues_.erase(worker); }
  /// Null when the worker belongs to another lane.
  [[nodiscard]] lane_holdings* colleague(worker_id worker) const {
    const auto found = colleagues_.find(worker);
    return found == colleagues_.end() ? nullptr : found->second;
  }

  /// Begins a turn of `who`, whose blocks are looked at now, unless it is his already; answers its number, from 1 on.
  std::uint64_t turn_of(const lane_holdings* who) const noexcept {
    if (turn_of_ != who) {
      turn_of_ = who;
      ++turn_;
    }
    return turn_;
  }
  [[nodiscard]] std::uint64_t turn() const noexcept { return turn_; }

  [[nodiscard]] std::size_t names() const noexcept { return table_.size(); }
  [[nodiscard]] std::size_t bytes() const noexcept;
  /// The part of them that forgetting names gives back, to this lane at least.
  [[nodiscard]] std::size_t bytes_in_use() const noexcept;

 private:
  static constexpr unsigned part_bits = 8;
  static constexpr std::uint32_t part_names = 1U << part_bits;
  static_assert(most_handed_over <= part_names);
  static constexpr std::uint32_t most_lists = 1U << 24;  ///< a place in the table has 8 bits for the name and 24 for the list

  void hashes_at(std::span<const std::uint32_t> places, std::uint64_t* hashes) const override;
  [[nodiscard]] name_spot spot_at(std::uint32_t place) const noexcept;
  /// The number, of a list or a further one, under which name number `index` of a list is found.
  [[nodiscard]] std::uint32_t number_for(std::uint32_t list, std::uint32_t index) const noexcept;
  [[nodiscard]] std::uint32_t place_of(std::uint32_t list, std::uint32_t index) const noexcept;
  /// How many of `names` names from number `index` on are entered together: their places follow each other.
  [[nodiscard]] static std::uint32_t at_once(std::uint32_t index, std::uint32_t names) noexcept {
    return std::min({names, part_names - index % part_names, static_cast<std::uint32_t>(name_table::most_at_once)});
  }
  [[nodiscard]] std::uint32_t new_number();
  void give_back_number(std::uint32_t number);
  void give_back_pages();
  void drop_numbers(naming& of, std::uint32_t names_kept);
  [[nodiscard]] std::optional<std::uint32_t> next_place(std::uint32_t list, std::uint32_t index);
  [[nodiscard]] std::uint32_t enter(std::uint32_t list, std::uint32_t from, std::uint32_t first);
  static void note_gap(naming& list, std::uint32_t offset);
  void forget(std::uint32_t list, std::uint32_t from);
  void reserve(naming& list, std::uint32_t names);
  void give_back_room(naming& list);

  name_table table_;
  static constexpr std::uint32_t names_between_looks = 16;
  std::uint32_t forgotten_ = 0;                          ///< names, since the table was looked at for sparse segments
  static constexpr std::uint32_t least_given_back = 64;  ///< names that a list has room for
  static constexpr std::uint32_t numbers_per_page = 256;
  static constexpr std::uint32_t pages_at_once = 16;                  ///< given back, which takes some 40 us
  paged_list<naming, numbers_per_page, arena_kind::names> numbered_;  ///< up to `end_`, and pages behind it that are still to be given back
  /// Names whose lines were asked for lately: those of the event in hand and of the next ones. Compared by address, never read later.
  mutable std::array<std::span<const engine_hash>, 7> near_;
  mutable std::size_t next_near_ = 0;
  mutable std::array<engine_hash, 4> stored_soon_{};  ///< the last names of as many stores as are looked ahead for at once
  mutable std::size_t stored_soon_at_ = 0;
  mutable const lane_holdings* turn_of_ = nullptr;  ///< compared only
  mutable std::uint64_t turn_ = 0;
  std::uint32_t first_unused_ = naming::no_list;  ///< below `end_`; the others behind it, each in `first` of the one before
  std::uint32_t end_ = 0;                         ///< no number in use, or on the list, is as high
  std::uint32_t in_use_ = 0;                      ///< numbers
  std::unordered_map<worker_id, lane_holdings*> colleagues_;
  std::size_t written_bytes_ = 0;  ///< of the lists
};

}  // namespace kvc::core
