// How lane_blocks tells what it holds, in bounded pieces, while events go on in between.
#include <algorithm>
#include <bit>
#include <utility>

#include "core/lane_blocks.hpp"
#include "core/quiescence.hpp"

namespace kvc::core {
namespace {

constexpr std::size_t blocks_per_run = 8;  ///< that are told in the time in which a run is found, or let go of, roughly

std::uint32_t size_of(std::size_t count) noexcept {
  return static_cast<std::uint32_t>(count);
}

/// One past the last block that is held, whatever its names.
std::uint32_t held_end(const holding& of) {
  if (!of.more) return of.cutoff;
  std::uint32_t end = of.more->odd.empty() ? 0 : of.more->odd.rbegin()->first + 1;
  for (std::uint32_t word = size_of(of.more->plain.size()); word-- != 0;) {
    if (of.more->plain[word] == 0) continue;
    return std::max(end, word * 64 + 64 - static_cast<std::uint32_t>(std::countl_zero(of.more->plain[word])));
  }
  return end;
}

/// Calls `visit(start, count)` for each stretch of plainly held blocks.
template <class Visit>
void each_plain_stretch(const holding& of, Visit visit) {
  if (!of.more) {
    if (of.cutoff != 0) visit(0, of.cutoff);
    return;
  }
  const std::vector<std::uint64_t>& bits = of.more->plain;
  const std::uint32_t end = size_of(bits.size() * 64);
  const auto skip = [&](std::uint32_t at, bool over_ones) {
    while (at < end) {
      const std::uint64_t rest = (over_ones ? ~bits[at / 64] : bits[at / 64]) >> (at % 64);
      if (rest != 0) return at + static_cast<std::uint32_t>(std::countr_zero(rest));
      at = (at / 64 + 1) * 64;
    }
    return end;
  };
  for (std::uint32_t start = skip(0, false); start < end;) {
    const std::uint32_t stop = skip(start, true);
    visit(start, stop - start);
    start = skip(stop, false);
  }
}

}  // namespace

void lane_blocks::begin_dump(dump_cursor& at) const {
  at.of_ = options_.worker;
  at.homes_.assign(homes_.begin(), homes_.end());
  for (const auto& home : homes_) at.is_wanted_.push_back(at.only_.matches(home->key()));
  for (const auto& [of, name] : ages_->all()) {
    if (of == this) at.waiting_.push_back(name);
  }
}

/// What has come since the dump began is not, nor a partition that has taken the place of another one meanwhile.
bool lane_blocks::is_told(std::uint16_t home, const dump_cursor& at) const {
  return home < at.homes_.size() && at.is_wanted_[home] && at.homes_[home] == homes_[home];
}

bool lane_blocks::dump_some(dump_cursor& at, std::size_t budget, dump_slice& into) const {
  using step = dump_cursor::step;
  const quiescent_scope working;
  const auto next_step = [&at](step next) {
    at.now_ = next;
    at.next_ = 0;
  };
  std::size_t spent = 0;
  if (at.now_ == step::begin) {
    begin_dump(at);
    next_step(step::waiting);
  }
  if (at.of_ != options_.worker) return true;  // the worker has gone, and its numbers mean nothing here
  // Those who wait are told first: one that finds its place between two slices is told twice rather than never.
  if (at.now_ == step::waiting) {
    for (; at.next_ < at.waiting_.size(); ++at.next_, ++spent) {
      if (spent >= budget) return false;
      dump_waiting(at.waiting_[at.next_], at, into);
    }
    // Not before: whoever has found its place up to now is in a run.
    next_step(step::finding);
    at.holdings_ = holdings_.end();
    at.moves_ = holdings_.moves();
  }
  // How far a path must reach is known when all that stands behind it is.
  if (at.now_ == step::finding) {
    if (!find_runs(at, budget, spent)) return false;
    next_step(step::paths);
  }
  if (at.now_ == step::paths) {
    for (; at.next_ < at.runs_.size(); ++at.next_, ++spent) {
      if (spent >= budget) return false;
      const std::size_t before = into.locals.size() + into.names.size();
      dump_chain(at.runs_[at.next_], at, into);
      spent += into.locals.size() + into.names.size() - before;
    }
    next_step(step::odd_names);
  }
  // By bucket: no list of all names has to be made. Where the table has grown in between, the walk begins again.
  for (std::vector<engine_hash> names; at.now_ == step::odd_names; spent += names.size() + 1) {
    if (spent >= budget) return false;
    if (!odd_.next_bucket(at.odd_names_, names)) {
      next_step(step::letting_go);
      break;
    }
    for (const engine_hash name : names) dump_odd(name, *odd_.find(name), at, into);
  }
  for (; !at.seen_.empty(); spent += blocks_per_run) {
    if (spent >= budget) return false;
    at.let_go_of_last();
  }
  return true;
}

void lane_blocks::dump_waiting(engine_hash name, const dump_cursor& at, dump_slice& into) const {
  const orphan* const found = waiting_.find(name);
  if (found == nullptr) return;
  const orphan& lost = *found;
  if (!is_told(lost.home, at)) return;
  into.waiting.push_back({name, lost.parent, lost.local, lost.home, size_of(into.waiting_copies.size()), size_of(lost.copies.size())});
  for (const auto& [medium, count] : lost.copies) into.waiting_copies.push_back({medium, count});
}

/// Finds the runs of all holdings. False when the budget was used up before.
///
/// Blocks may move to another run meanwhile, under a number that the walk has passed. So each slice looks first at where they went since
/// the last one, whatever the budget, and the walk always comes on. Blocks of runs that are found already do not move any more.
bool lane_blocks::find_runs(dump_cursor& at, std::size_t budget, std::size_t& spent) const {
  const auto look_at = [&](std::uint32_t which) {
    if (which >= holdings_.end()) return;  // those there were have all gone since
    const holding& held = holdings_.at(which);
    if (held.in == nullptr || !is_told(held.home, at)) return;
    find_run(held.in, held.home, at, spent);
    spent += blocks_per_run;
  };
  if (holdings_.moves() - at.moves_ > lane_holdings::moves_kept) {  // nobody knows all of them any more
    at.next_ = 0;
    at.holdings_ = holdings_.end();
    at.moves_ = holdings_.moves();
  }
  while (at.moves_ != holdings_.moves()) look_at(holdings_.moved_to(at.moves_++));
  // From the oldest up: a run is mostly held before what stands behind it, so that a long chain need not be told at once.
  for (; at.next_ < at.holdings_; ++at.next_, ++spent) {
    if (spent >= budget) return false;
    look_at(static_cast<std::uint32_t>(at.next_));
  }
  return true;
}

void lane_blocks::find_run(run* held, std::uint16_t home, dump_cursor& at, std::size_t& spent) {
  dump_cursor::seen& entry = at.note(held);
  entry.home = home;
  if (entry.is_pinned) return;
  at.runs_.push_back(held);
  held->pins.fetch_add(run::one_visit, std::memory_order_relaxed);  // the holding pins it until here
  entry.is_pinned = true;
  for (const run* child = held; child->parent != nullptr; child = child->parent, ++spent) {
    const std::size_t before = at.seen_.size();
    dump_cursor::seen& behind = at.note(child->parent);
    behind.home = home;
    behind.needed = std::max(behind.needed, child->parent_offset + 1U);
    if (at.seen_.size() == before) break;  // it is known, and those before it are as well
  }
}

/// Tells a run after all it stands behind.
void lane_blocks::dump_chain(run* held, dump_cursor& at, dump_slice& into) const {
  std::vector<run*> chain;
  for (run* each = held; each != nullptr && at.of(each).number == dump_slice::no_path; each = each->parent) chain.push_back(each);
  while (!chain.empty()) {
    dump_run(chain.back(), at, into);
    chain.pop_back();
  }
}

void lane_blocks::dump_run(run* told, dump_cursor& at, dump_slice& into) const {
  dump_cursor::seen& entry = at.of(told);
  boost::container::small_vector<const holding*, 4> parts;
  std::uint32_t length = entry.needed;
  for (unsigned rest = holdings_.media(); rest != 0; rest &= rest - 1) {
    const std::uint32_t which = holdings_.find(told, static_cast<medium_id>(std::countr_zero(rest)));
    if (which == lane_holdings::none) continue;
    parts.push_back(&holdings_.at(which));
    length = std::max(length, held_end(*parts.back()));
  }
  if (length == 0) return;  // all of it has been removed since the dump began, and nothing stands behind it

  entry.number = at.paths_told_++;
  entry.told = length;
  dump_slice::path path;
  path.number = entry.number;
  path.base = told->base;
  path.home = entry.home;
  path.first_local = size_of(into.locals.size());
  path.count = length;
  path.first_hash = told->first_hash;
  if (told->parent != nullptr) {
    path.parent = at.of(told->parent).number;
    path.parent_offset = told->parent_offset;
    path.parent_hash = seq_hash_at(*told->parent, told->parent_offset, at.homes_[entry.home]->seed());
  }
  into.paths.push_back(path);
  into.locals.resize(into.locals.size() + length);
  told->copy_locals(0, length, into.locals.data() + path.first_local);
  for (const holding* each : parts) {
    each_plain_stretch(*each, [&](std::uint32_t start, std::uint32_t count) {
      const naming& list = holdings_.names_of(*each);
      const engine_hash* const first = list.names + (start - list.first);
      into.parts.push_back({path.number, start, each->medium, size_of(into.names.size()), count});
      into.names.insert(into.names.end(), first, first + count);
    });
  }
}

void lane_blocks::dump_odd(engine_hash name, const copies& all, const dump_cursor& at, dump_slice& into) const {
  const std::uint32_t first = size_of(into.copies.size());
  for (const copy& each : all) {
    const place& stands = each.where;
    if (!is_told(stands.home, at)) continue;
    dump_slice::copy told;
    told.block = stands.block;
    told.home = stands.home;
    told.medium = each.medium;
    told.count = each.count;
    if (stands.where.in != nullptr) {
      const dump_cursor::seen* const path = at.find(stands.where.in);
      if (path == nullptr || stands.where.offset >= path->told) continue;  // stored since the dump began
      told.path = path->number;
      told.offset = stands.where.offset;
      told.base = stands.where.in->base + told.offset;
      told.block = seq_hash_at(*stands.where.in, told.offset, at.homes_[stands.home]->seed());
      stands.where.in->copy_locals(told.offset, 1, &told.local);
    }
    into.copies.push_back(told);
  }
  const std::uint32_t count = size_of(into.copies.size()) - first;
  if (count != 0) into.odd_names.push_back({name, first, count});
}

}  // namespace kvc::core
