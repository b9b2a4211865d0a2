// The byte budget of the index: when blocks have to go, whose, and how all lanes judge alike which.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/catalog.hpp"
#include "core/run.hpp"

namespace kvc::core {

/// One pass of eviction: every lane walks what its workers hold, once, and lets go of what this pass condemns.
///
/// Thread-safety: made by index_budget and shared by the lanes; what changes is atomic.
class eviction_pass {
 public:
  /// What one tenant has to give.
  struct account {
    std::string tenant;
    std::atomic<std::int64_t> excess{0};   ///< bytes still to be condemned; at or below 0: nothing more
    std::atomic<std::uint64_t> blocks{0};  ///< let go of
  };

  /// Numbered from 1, in the order of passes.
  [[nodiscard]] std::uint64_t number() const noexcept { return number_; }
  /// The account that pays for blocks of a partition; null when its tenant is within its share.
  [[nodiscard]] account* account_of(const partition* home) const;
  /// Whether everyone who holds the run is to let go of it: nothing stands behind it, and either somebody has condemned it, or it has not
  /// been used for as many rounds as this pass asks for and the tenant still has to give; then it is condemned now, and its bytes are
  /// charged. The caller pins the run, inside a quiescent scope. Any lane.
  [[nodiscard]] bool condemns(run& in, account& of);
  /// Whether somebody has condemned the run and nothing has come of it since. The caller pins the run. Any lane.
  [[nodiscard]] static bool is_condemned(const run& in) noexcept {
    return in.is_leaf() && (in.recency.load(std::memory_order_relaxed) & run::condemned) != 0;
  }
  /// The same as `condemns` for a block that stands in no run: nobody knows when it was used last, so such blocks go when nothing has an
  /// age any more.
  [[nodiscard]] bool condemns_lone_block(account& of);
  void note_evicted(account& of, std::uint64_t blocks) noexcept;
  /// Whether blocks that wait for their place are given up: nothing can be matched by them, and each takes more room than one that is held.
  [[nodiscard]] bool gives_up_waiting() const noexcept { return gives_up_waiting_; }
  void note_given_up(std::uint64_t waiting) noexcept { given_up_.fetch_add(waiting, std::memory_order_relaxed); }
  /// Somebody who may hold something takes no part in this pass: it proves nothing about what is left. Any lane.
  void note_passed_over() noexcept { has_passed_over_.store(true, std::memory_order_relaxed); }
  /// Blocks let go of so far. Any lane.
  [[nodiscard]] std::uint64_t blocks() const noexcept { return blocks_.load(std::memory_order_relaxed); }

 private:
  friend class index_budget;
  static constexpr std::uint32_t nothing_spared = std::numeric_limits<std::uint32_t>::max();
  void spare(std::uint32_t age) noexcept;

  std::uint64_t number_ = 0;
  std::uint32_t round_ = 0;
  std::uint32_t least_age_ = 0;  ///< rounds without use
  bool gives_up_waiting_ = false;
  std::shared_ptr<const catalog_view> catalog_;  ///< keeps the partitions
  std::vector<std::unique_ptr<account>> accounts_;
  std::unordered_map<const partition*, account*> by_home_;
  std::atomic<std::uint64_t> blocks_{0};    ///< let go of in all
  std::atomic<std::uint64_t> given_up_{0};  ///< of those that waited
  std::atomic<bool> has_passed_over_{false};
  std::int64_t asked_ = 0;                                    ///< bytes, of all accounts
  std::atomic<std::uint32_t> oldest_spared_{nothing_spared};  ///< age of the oldest leaf that was too young
  std::vector<bool> is_done_;                                 ///< by lane; under index_budget's lock
};

/// The byte budget of the whole index.
///
/// Story: over the budget, blocks that wait for their place go first, all of them: they may be told of without end by who has lost their
/// beginning, and no block that can be matched is to make room for them. Of 95 % of the budget, every tenant keeps its fair share (see
/// budget.hpp) with what it holds, and who has more gives the difference: leaf runs, since nothing can be matched behind a block that is
/// not held, those first that were used least recently. Recency is told in rounds, which some clock outside begins: a query or store marks
/// the runs it comes through with the round. A pass lets go of what is older than an age, which begins where the last pressure left it and
/// comes down, guided by what was spared, when a pass gave much less than it asked for, until there is enough room. A chain is eaten from
/// its end, run by run. A run is condemned once, by the first lane that comes to it, and charged then; all who hold it follow, so that no
/// worker pays alone for what others still hold; a use in between saves it for those who have not. What counts: runs, cells and directories
/// as far as blocks leaving give them back, and what lanes say they keep beside (`note_lane`), which is taken to be spread over the tenants
/// like the index. Room kept for what may come does not count. Thread-safety: all members from any lane; they take a lock and are rare.
class index_budget {
 public:
  /// `bytes` 0: no budget, nothing ever happens. `catalog` outlives the budget; `lanes` at least 1.
  index_budget(const catalog& partitions, std::uint64_t bytes, std::size_t lanes);

  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
  /// What counted against the budget at the last look.
  [[nodiscard]] std::uint64_t used() const noexcept { return used_.load(std::memory_order_relaxed); }
  /// What a lane keeps of names, holdings and blocks that wait for their place; `waiting` is what the last of these take.
  void note_lane(std::size_t lane, std::uint64_t bytes, std::uint64_t waiting) noexcept {
    lane_bytes_[lane].store(bytes, std::memory_order_relaxed);
    waiting_bytes_[lane].store(waiting, std::memory_order_relaxed);
  }

  /// Time has passed, about as much as between the last two calls: what is used from now on is younger than what was used before.
  void begin_round();

  /// What a look found worth telling.
  enum class news : std::uint8_t { none, begins, ends, gives_up };
  /// Compares the index with the budget and begins a pass, the next one, or none; does nothing while lanes work on a pass. `gives_up`: over
  /// the budget, and nothing is left that could go; it is tried again after some rounds, or when more has come. Throws std::bad_alloc, and
  /// is then to be called again: nothing has been lost by it.
  [[nodiscard]] news look();
  /// The pass that this lane has still to make; null when there is none.
  [[nodiscard]] std::shared_ptr<eviction_pass> pass_for(std::size_t lane) const;
  /// The lane has walked through all it holds. True: it was the last one, so that a look is due.
  [[nodiscard]] bool finish(std::size_t lane, const eviction_pass& pass);

  /// Blocks evicted under pressure that is on, or else was last, and in all by tenant: the first 256 ones, further ones together under "".
  struct totals {
    std::uint64_t blocks = 0;
    std::uint64_t passes = 0;
    std::map<std::string, std::uint64_t> by_tenant;
  };
  [[nodiscard]] totals so_far() const;
  [[nodiscard]] bool is_evicting() const noexcept { return is_evicting_.load(std::memory_order_relaxed); }

 private:
  [[nodiscard]] std::uint64_t measure(const catalog_view& view, std::map<std::string, std::uint64_t>& by_tenant) const;
  [[nodiscard]] bool close_pass();
  void judge_pass() noexcept;
  [[nodiscard]] bool is_resting(std::uint64_t used) const noexcept;
  void open_pass(std::shared_ptr<const catalog_view> view, const std::map<std::string, std::uint64_t>& by_tenant, std::uint64_t used);
  news end(news what);

  const catalog* catalog_;
  const std::uint64_t bytes_;
  std::vector<std::atomic<std::uint64_t>> lane_bytes_;
  std::vector<std::atomic<std::uint64_t>> waiting_bytes_;  ///< of these
  std::atomic<std::uint64_t> used_{0};

  mutable std::mutex changing_;
  std::uint32_t round_ = 1;
  std::uint32_t least_age_ = 0;    ///< of the next pass
  std::uint32_t quiet_until_ = 0;  ///< round before which nothing is tried after nothing was left,
  std::uint64_t quiet_up_to_ = 0;  ///< unless more than this is used
  std::uint64_t last_pass_ = 0;
  std::shared_ptr<eviction_pass> pass_;   ///< null: none is under way
  std::atomic<bool> is_evicting_{false};  ///< written under the lock
  totals totals_;
};

}  // namespace kvc::core
