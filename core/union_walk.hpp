// From a query to rows where a worker may put blocks from several media and pools together.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/match.hpp"
#include "core/run_store.hpp"
#include "core/run_walk.hpp"
#include "core/slot_roster.hpp"

namespace kvc::core {

/// Finds the depths of every worker along a query: per medium, on device or host, and over everything the worker can use.
///
/// Story: what one slot holds of a run is nearly always a beginning of it, and so is then what several slots hold together: the longest of
/// their cutoffs. So one look at each cell of a run tells for every worker on the way whether it goes on behind the run, and on which
/// media; only where cutoffs leave a gap and somebody holds blocks behind a hole are single blocks looked at. Blocks that stand
/// in no run, as those of pools, are looked up one by one beside the run in hand, as far as anybody may come, and count like blocks behind
/// a hole; behind the last run the query goes on through them alone. What shared pools hold counts for everybody, and a worker may join at
/// any block up to which pools carry the whole query. Belongs to one thread; reused from query to query for its memory. Inside a quiescent
/// scope.
class union_walk {
 public:
  /// Fills `out`, rows by ascending worker; marks the runs it comes through as used in this round.
  template <class Walk>
  void run(const run_store& runs, const Walk& query, const match_scope& scope, match_result& out);

 private:
  /// A worker, or all shared pools together. What it has reached is written into its row where it ends, medium by medium.
  struct runner {
    /// What the worker is to the query in hand.
    enum class role : std::uint8_t {
      nobody,  ///< came too late to count
      reader,
      shared_pool,
      private_pool,
    };
    std::uint32_t query = 0;  ///< the last one it was met in; the rest tells of that one
    std::uint32_t run = 0;    ///< the last one of which it holds anything; `full` and so on tell of that one
    std::uint32_t row = 0;    ///< of a reader; of a private pool: its place in the scope
    role is = role::nobody;
    bool is_on = false;                 ///< holds every block so far
    bool is_listed = false;             ///< holds one itself, so that its row stays
    bool is_on_device_or_host = false;  ///< every block so far on gpu or cpu
    media_mask alone = 0;               ///< media that hold every block so far
    media_mask full = 0;                ///< media on which it holds all of the run that the query has
    media_mask partial = 0;             ///< media for which `cut` is valid
    media_mask more = 0;                ///< media on which it has remnants
    std::uint32_t first_remnant = 0;    ///< of those; valid while `more` is not 0
    std::array<std::uint16_t, max_media> cut;

    void come_to(std::uint32_t number) noexcept;
  };
  /// Blocks behind a hole, or that stand in no run, at the place of the run in hand.
  struct remnant {
    media_mask medium = 0;
    std::uint32_t next = no_remnant;  ///< of the same runner
    std::size_t first_word = 0;       ///< in `bits_`: a bit for each block
  };
  static constexpr std::uint32_t no_remnant = 0xFFFF'FFFF;
  /// What a slot holds of the run in hand behind holes, found out for all slots at once.
  struct hole_record {
    std::uint32_t run = 0;  ///< of which that is true
    const held_bits* bits = nullptr;
  };

  static constexpr std::uint32_t the_pools = 0;  ///< number of their runner; workers begin with 1

  void begin(const run_store& runs, const match_scope& scope, match_result& out);
  void enter(std::size_t at, std::uint32_t length);
  void visit_run(const kvc::core::run& in);
  template <class Walk>
  void visit_lone(const run_directory& directory, Walk& query);
  void visit(const kvc::core::run& in, std::uint32_t slot, cell_word word);
  [[nodiscard]] runner::role meet(std::uint32_t who, worker_id worker);
  void join(std::uint32_t who, worker_id worker);
  void note_reader(const kvc::core::run& in, std::uint32_t slot, std::uint32_t who, slot_owner reader, cell_word word);
  void note(const kvc::core::run& in, std::uint32_t slot, std::uint32_t who, medium_id medium, cell_word word);
  void visit_lone_blocks(const holder_list& by, std::uint32_t from, std::uint32_t to);
  void visit_lone_holder(const holder& by, std::uint32_t from, std::uint32_t to);
  void note_lone(std::uint32_t who, medium_id medium, std::uint32_t from, std::uint32_t to);
  [[nodiscard]] std::uint64_t* remnant_of(runner& own, media_mask medium);
  void note_holes(const kvc::core::run& in);
  [[nodiscard]] const held_bits* bits_of(const kvc::core::run& in, std::uint32_t slot) const noexcept;
  [[nodiscard]] std::uint32_t held_until(const remnant& of, std::uint32_t from) const noexcept;
  [[nodiscard]] bool holds_any(const remnant& of, std::uint32_t last) const noexcept;
  [[nodiscard]] worker_depth& row_of(const runner& own) noexcept;
  void settle_run();
  void settle(runner& own);
  [[nodiscard]] std::uint32_t covered(const runner& own, media_mask media) const;
  [[nodiscard]] bool may_join(const runner& own, std::uint32_t pooled) const;
  void end_at(runner& own, std::uint32_t depth) noexcept;
  void tell(std::uint32_t depth);

  const match_scope* scope_ = nullptr;
  const slot_table* slots_ = nullptr;
  match_result* out_ = nullptr;
  media_mask media_ = 0;       ///< that count and that anybody uses
  std::uint32_t query_ = 0;    ///< number of the query in hand, never 0
  std::uint32_t run_ = 0;      ///< number of the run in hand, never 0
  std::uint32_t base_ = 0;     ///< where it begins in the query
  std::uint32_t length_ = 0;   ///< how much of it the query has
  std::uint32_t deepest_ = 0;  ///< no slot holds anything of it from this block on
  runner pools_before_;        ///< the pools before the run in hand: how a worker that joins begins
  slot_roster roster_;
  std::vector<runner> runners_;         ///< by number of the worker; the first are all shared pools together
  std::vector<std::uint32_t> rows_;     ///< whose each row is
  std::vector<std::uint32_t> active_;   ///< readers that hold every block before the run in hand
  std::vector<std::uint32_t> joining_;  ///< those that the run in hand is the first of
  std::vector<remnant> remnants_;
  std::vector<hole_record> holes_;   ///< by slot
  std::vector<std::uint64_t> bits_;  ///< of `remnants_`, read once, so that whatever is made of them agrees
  holder_list lone_;                 ///< of the block in hand
  holder_list lone_before_;          ///< of those before it, as long as they are the same
};

}  // namespace kvc::core
