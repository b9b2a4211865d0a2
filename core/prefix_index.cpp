#include "core/prefix_index.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <unordered_set>
#include <utility>

#include "core/level_walk.hpp"
#include "core/quiescence.hpp"
#include "core/run_walk.hpp"
#include "core/union_walk.hpp"

namespace kvc::core {
namespace {

/// How one slot holds the run in hand.
struct segment_holder {
  slot_owner who;
  cell_word cell;
  const held_bits* bits;  ///< null without holes
};

/// Buffers of the queries of one thread; a match never suspends, so they are free again when it returns.
struct match_buffers {
  level_walk walk;
  match_levels levels;
  union_walk together;
};

match_buffers& buffers() {
  thread_local match_buffers mine;
  return mine;
}

/// Whether each slot may stand for itself: one medium in all, nothing borrowed, no block outside the runs. That is so of slots on `media`,
/// also when others are taken later.
bool is_simple(const run_store& runs, const match_scope& scope, media_mask& media) {
  media = runs.slots().media();
  return scope.pools.empty() && scope.private_pools.empty() && (media & scope.media) == media && (media & (media - 1)) == 0 &&
         runs.directory().lone_blocks() == 0;
}

/// The holders of a run, sorted by (worker, medium).
void read_holders(const run_store& runs, const run& in, media_mask media, std::vector<segment_holder>& into) {
  into.clear();
  in.each_cell([&](std::uint32_t slot, cell_word cell) {
    const slot_owner who = runs.slots().owner(slot);
    if ((mask_of(who.medium) & media) == 0) return;
    const held_bits* bits = nullptr;
    if (cell.has_more()) {
      bits = in.holes.load(std::memory_order_acquire);
      while (bits != nullptr && bits->slot != slot) bits = bits->next.load(std::memory_order_acquire);
    }
    into.push_back({who, cell, bits});
  });
  std::ranges::sort(into, {}, [](const segment_holder& each) {
    return std::uint64_t{each.who.worker.get()} << 4 | static_cast<std::uint64_t>(each.who.medium);
  });
}

/// Fills `holders` for block `offset`; answers the first offset, at most `length`, at which they change.
std::uint32_t holders_at(const std::vector<segment_holder>& segment, std::uint32_t offset, std::uint32_t length, holder_list& holders) {
  std::uint32_t until = length;
  for (const segment_holder& each : segment) {
    const std::uint32_t cutoff = each.cell.cutoff();
    bool is_held = offset < cutoff;
    std::uint32_t change = cutoff;
    if (!is_held) {
      if (each.bits == nullptr) continue;
      is_held = each.bits->test(offset);
      change = offset + 1;
      while (change < until && each.bits->test(change) == is_held) ++change;
    }
    until = std::min(until, change);
    if (is_held) holders.push_back({each.who.worker.get(), each.who.medium, 1});
  }
  return until;
}

/// Levels as rows by ascending worker.
void fold(const slot_table& slots, const match_levels& levels, match_result& out) {
  levels.each([&](std::uint32_t slot, std::uint32_t depth) {
    const slot_owner who = slots.owner(slot);
    if (!levels.counts(who.medium)) return;
    worker_depth& row = out.workers.emplace_back();
    row.worker = who.worker;
    row.any = depth;
    if (who.medium == medium_id::gpu || who.medium == medium_id::cpu) row.device_or_host = depth;
    row.on[static_cast<std::size_t>(who.medium)] = depth;
  });
  // Cells change places while queries run, so that a worker may have been seen twice: its deeper cell was right at some moment.
  const auto by_worker = [](const worker_depth& left, const worker_depth& right) {
    return left.worker != right.worker ? left.worker < right.worker : left.any > right.any;
  };
  if (!std::ranges::is_sorted(out.workers, by_worker)) std::ranges::sort(out.workers, by_worker);
  const auto again = std::ranges::unique(out.workers, {}, &worker_depth::worker);
  out.workers.erase(again.begin(), again.end());
}

template <class Walk>
void match_all(const run_store& runs, const Walk& query, const match_scope& scope, match_result& out) {
  const quiescent_scope reading;
  out.clear();
  if (query.size() == 0) return;
  match_buffers& mine = buffers();
  if (is_simple(runs, scope, mine.levels.media)) {
    mine.walk.run(runs, query, mine.levels);
    fold(runs.slots(), mine.levels, out);
    return;
  }
  mine.together.run(runs, query, scope, out);
}

template <class Walk>
bool match_levels_only(const run_store& runs, const Walk& query, const match_scope& scope, match_levels& out) {
  const quiescent_scope reading;
  out.clear();
  if (!is_simple(runs, scope, out.media)) return false;
  if (query.size() != 0) buffers().walk.run(runs, query, out);
  return true;
}

std::uint64_t next_number() {
  static std::atomic<std::uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

}  // namespace

prefix_index::prefix_index(std::uint64_t seed) : runs_(seed), number_(next_number()) {}

void prefix_index::match(std::span<const local_hash> query, const match_scope& scope, match_result& out) const {
  match_all(runs_, local_walk(query, seed()), scope, out);
}

void prefix_index::match(std::span<const seq_hash> query, const match_scope& scope, match_result& out) const {
  match_all(runs_, sequence_walk(query, seed()), scope, out);
}

bool prefix_index::match(std::span<const local_hash> query, const match_scope& scope, match_levels& out) const {
  return match_levels_only(runs_, local_walk(query, seed()), scope, out);
}

bool prefix_index::match(std::span<const seq_hash> query, const match_scope& scope, match_levels& out) const {
  return match_levels_only(runs_, sequence_walk(query, seed()), scope, out);
}

std::size_t prefix_index::count_held() const {
  std::size_t count = 0;
  std::unordered_set<seq_hash> seen;
  const run_directory& directory = runs_.directory();
  const bool has_lone = directory.lone_blocks() != 0;
  directory.each_run([&](const run* each) {
    const auto length = static_cast<std::uint32_t>(each->blocks().size());
    std::vector<segment_holder> all;
    read_holders(runs_, *each, all_media, all);
    holder_list here;
    for (std::uint32_t offset = 0; offset < length; ++offset) {
      here.clear();
      (void)holders_at(all, offset, length, here);
      if (here.empty()) continue;
      ++count;
      if (has_lone) seen.insert(seq_hash_at(*each, offset, seed()));
    }
  });
  directory.each_lone([&](seq_hash block) { count += seen.contains(block) ? 0U : 1U; });
  return count;
}

}  // namespace kvc::core
