#include "core/prefix_index.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <unordered_set>
#include <utility>

#include "core/active_rows.hpp"
#include "core/depth_merge.hpp"
#include "core/quiescence.hpp"
#include "core/run_walk.hpp"

namespace kvc::core {
namespace {

/// How one worker holds the run in hand on one medium.
struct segment_holder {
  cell_value cell;
  const held_bits* bits;  ///< null without holes
};

/// Buffers of the queries of one thread; a match never suspends, so they are free again when it returns.
struct match_buffers {
  std::vector<worker_reach> reaches;
  active_rows active;  ///< rows of reaches that cover everything so far
  active_rows next;
  std::vector<segment_holder> segment;
  holder_list holders;
  holder_list lone;
  depth_merge merge;
};

match_buffers& buffers() {
  thread_local match_buffers mine;
  return mine;
}

/// Depths while all holders on the way use one medium and nobody borrows: then a worker's depth is where its cutoff ends it, and workers do
/// not meet. Answers the medium; nothing when the query is not that simple.
template <class Walk>
bool match_simple(const run_directory& directory, const Walk& query, media_mask media, std::vector<worker_reach>& out, media_mask& seen) {
  auto& [reaches, active, next, segment, holders, lone, merge] = buffers();
  out.clear();
  seen = 0;
  run_segment here;
  std::size_t at = 0;
  while (at < query.size() && next_segment(directory, query, here, at, here)) {
    const std::uint32_t length = here.length;
    const auto base = static_cast<std::uint32_t>(at);
    next.clear();
    here.in->each_cell([&](cell_value cell) {
      const media_mask medium = mask_of(cell.medium()) & media;
      seen |= medium;
      const std::uint32_t held = std::min(cell.cutoff(), length);
      if (medium == 0 || held == 0) return;
      std::uint32_t row = 0;
      if (base == 0) {
        row = static_cast<std::uint32_t>(out.size());
        out.push_back({worker_id{cell.worker()}, held});
      } else {
        row = active.find(cell.worker());
        if (row == active_rows::none || out[row].depth != base) return;
        out[row].depth = base + held;
      }
      if (held == length) next.add(cell.worker(), row);
    });
    if (!std::has_single_bit(static_cast<unsigned>(seen))) return seen == 0;
    std::swap(active, next);
    if (active.empty()) return true;
    at += length;
  }
  return true;
}

/// The holders of a run, sorted by (worker, medium).
void read_holders(const run& in, media_mask media, std::vector<segment_holder>& into) {
  into.clear();
  in.each_cell([&](cell_value cell) {
    if ((mask_of(cell.medium()) & media) == 0) return;
    const held_bits* bits = nullptr;
    if (cell.has_more()) {
      bits = in.holes.load(std::memory_order_acquire);
      while (bits != nullptr && (bits->worker.get() != cell.worker() || bits->medium != cell.medium())) bits = bits->next.load(std::memory_order_acquire);
    }
    into.push_back({cell, bits});
  });
  std::ranges::sort(into, {}, [](const segment_holder& each) { return each.cell.bits() >> 28; });
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
    if (is_held) holders.push_back({each.cell.worker(), each.cell.medium(), 1});
  }
  return until;
}

/// Depths by the definition, interval by interval: for several media, pools, and blocks that stand in no run.
template <class Walk>
void match_general(const run_directory& directory, Walk query, const match_scope& scope, match_result& out) {
  auto& [reaches, active, next, segment, holders, lone, merge] = buffers();
  merge.begin(scope, out);
  const bool has_lone = directory.lone_blocks() != 0;
  run_segment here;
  std::size_t at = 0;
  std::size_t base = 0;  // position at which `here` starts
  bool is_in_run = true;
  while (at < query.size()) {
    if (is_in_run && at == base + here.length) {
      base = at;
      is_in_run = next_segment(directory, query, here, at, here);
      if (is_in_run) read_holders(*here.in, scope.media, segment);
    }
    std::size_t end = at + 1;
    holders.clear();
    if (is_in_run) end = base + holders_at(segment, static_cast<std::uint32_t>(at - base), here.length, holders);
    if (has_lone) {
      end = at + 1;
      if (directory.read(query.next(at), lone)) {
        holders.insert(holders.end(), lone.begin(), lone.end());
        std::ranges::sort(holders, {}, [](const holder& each) { return std::uint64_t{each.worker} << 8 | static_cast<std::uint64_t>(each.medium); });
      }
    }
    if (holders.empty() || !merge.advance(holders, static_cast<std::uint32_t>(end))) break;
    at = end;
  }
  merge.finish();
}

template <class Walk>
void match_all(const run_directory& directory, const Walk& query, const match_scope& scope, match_result& out) {
  const quiescent_scope reading;
  out.clear();
  if (query.size() == 0) return;
  std::vector<worker_reach>& reaches = buffers().reaches;
  media_mask seen = 0;
  const bool borrows = !scope.pools.empty() || !scope.private_pools.empty();
  if (borrows || directory.lone_blocks() != 0 || !match_simple(directory, query, scope.media, reaches, seen)) {
    match_general(directory, query, scope, out);
    return;
  }
  // Cells change places while queries run, so that a worker may have been seen twice: its deeper cell was right at some moment.
  const auto by_worker = [](const worker_reach& left, const worker_reach& right) {
    return left.worker != right.worker ? left.worker < right.worker : left.depth > right.depth;
  };
  if (!std::ranges::is_sorted(reaches, by_worker)) std::ranges::sort(reaches, by_worker);
  const auto medium = static_cast<std::size_t>(std::countr_zero(seen));
  const bool is_near = (seen & (mask_of(medium_id::gpu) | mask_of(medium_id::cpu))) != 0;
  for (const worker_reach& each : reaches) {
    if (!out.workers.empty() && out.workers.back().worker == each.worker) continue;
    worker_depth& row = out.workers.emplace_back();
    row.worker = each.worker;
    row.any = each.depth;
    if (is_near) row.device_or_host = each.depth;
    row.on[medium] = each.depth;
  }
}

std::uint64_t next_number() {
  static std::atomic<std::uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

}  // namespace

prefix_index::prefix_index(std::uint64_t seed) : runs_(seed), number_(next_number()) {}

void prefix_index::match(std::span<const local_hash> query, const match_scope& scope, match_result& out) const {
  match_all(runs_.directory(), local_walk(query, seed()), scope, out);
}

void prefix_index::match(std::span<const seq_hash> query, const match_scope& scope, match_result& out) const {
  match_all(runs_.directory(), sequence_walk(query, seed()), scope, out);
}

void prefix_index::match(std::span<const local_hash> query, const match_scope& scope, std::vector<worker_reach>& out) const {
  const quiescent_scope reading;
  out.clear();
  if (query.empty()) return;
  const run_directory& directory = runs_.directory();
  const local_walk walk(query, seed());
  media_mask seen = 0;
  const bool borrows = !scope.pools.empty() || !scope.private_pools.empty();
  if (!borrows && directory.lone_blocks() == 0 && match_simple(directory, walk, scope.media, out, seen)) return;
  thread_local match_result whole;
  match_general(directory, walk, scope, whole);
  out.clear();
  for (const worker_depth& each : whole.workers) out.push_back({each.worker, each.any});
}

std::size_t prefix_index::count_held() const {
  std::size_t count = 0;
  std::unordered_set<seq_hash> seen;
  const run_directory& directory = runs_.directory();
  const bool has_lone = directory.lone_blocks() != 0;
  directory.each_run([&](const run* each) {
    const auto length = static_cast<std::uint32_t>(each->blocks().size());
    std::vector<segment_holder> all;
    read_holders(*each, all_media, all);
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
