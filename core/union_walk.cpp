#include "core/union_walk.hpp"

#include <algorithm>
#include <bit>

namespace kvc::core {
namespace {

constexpr media_mask device_and_host = mask_of(medium_id::gpu) | mask_of(medium_id::cpu);

/// Calls `visit(medium's index)` for each medium of a mask.
template <class Visit>
void each_medium(media_mask media, Visit visit) {
  for (unsigned rest = media; rest != 0; rest &= rest - 1) visit(static_cast<std::size_t>(std::countr_zero(rest)));
}

}  // namespace

void union_walk::begin(const run_store& runs, const match_scope& scope, match_result& out) {
  scope_ = &scope;
  slots_ = &runs.slots();
  out_ = &out;
  out.clear();
  rows_.clear();
  active_.clear();
  roster_.tidy(*slots_);
  if (++query_ == 0) {  // once in four thousand million queries, the marks of earlier ones are taken away
    runners_.clear();
    query_ = 1;
  }
  run_ = 0;
  holes_.clear();
  media_ = static_cast<media_mask>((slots_->media() | runs.directory().lone_media()) & scope.media);
  runners_.resize(std::max<std::size_t>(runners_.size(), 1));
  runner& pools = runners_[the_pools];
  pools = {};
  pools.is = runner::role::shared_pool;
  pools.is_on = true;
  pools.is_on_device_or_host = true;
  pools.alone = media_;
}

worker_depth& union_walk::row_of(const runner& own) noexcept {
  return own.is == runner::role::shared_pool ? out_->pools_alone : out_->workers[own.row];
}

/// Begins as the pools have come to the run in hand, which carry the query until there.
void union_walk::join(std::uint32_t who, worker_id worker) {
  runner& own = runners_[who];
  const std::uint32_t row = own.row;
  own = pools_before_;
  own.query = query_;
  own.row = row;
  own.is = runner::role::reader;
  worker_depth& depths = out_->workers[row];
  depths = out_->pools_alone;
  depths.worker = worker;
  joining_.push_back(who);
}

/// Finds out what a worker is to the query in hand, when it is met for the first time.
union_walk::runner::role union_walk::meet(std::uint32_t who, worker_id worker) {
  if (who >= runners_.size()) runners_.resize(roster_.workers() + std::size_t{1});
  runner& own = runners_[who];
  if (own.query == query_) return own.is;
  own.query = query_;
  own.run = 0;
  own.is_on = false;
  own.is_listed = false;
  if (!scope_->pools.empty() && std::ranges::binary_search(scope_->pools, worker)) return own.is = runner::role::shared_pool;
  if (!scope_->private_pools.empty()) {
    const auto lent = std::ranges::lower_bound(scope_->private_pools, worker, {}, &private_pool::pool);
    // A pool whose instance has no engine is lent to itself: it reads.
    if (lent != scope_->private_pools.end() && lent->pool == worker && lent->users.front() != worker) {
      own.row = static_cast<std::uint32_t>(lent - scope_->private_pools.begin());
      return own.is = runner::role::private_pool;
    }
  }
  if (!pools_before_.is_on) return own.is = runner::role::nobody;
  own.row = static_cast<std::uint32_t>(rows_.size());
  rows_.push_back(who);
  out_->workers.emplace_back();
  join(who, worker);
  return runner::role::reader;
}

/// What is said of a run from now on is about this one.
void union_walk::runner::come_to(std::uint32_t number) noexcept {
  if (run == number) return;
  run = number;
  full = 0;
  partial = 0;
  more = 0;
}

/// What a reader or the pools hold of the run in hand on one slot.
void union_walk::note(const kvc::core::run& in, std::uint32_t slot, std::uint32_t who, medium_id medium, cell_word word) {
  runner& own = runners_[who];
  own.come_to(run_);
  const media_mask on = mask_of(medium);
  if (word.cutoff() >= length_) {
    own.full |= on;
    return;
  }
  std::uint16_t& cut = own.cut[static_cast<std::size_t>(medium)];
  const auto here = static_cast<std::uint16_t>(word.cutoff());
  cut = (own.partial & on) == 0 ? here : std::max(cut, here);  // cells change places, and pools are many: a medium may be seen twice
  own.partial |= on;
  if (!word.has_more()) return;
  const held_bits* const bits = bits_of(in, slot);
  if (bits == nullptr) return;
  std::uint64_t* const into = remnant_of(own, on);
  for (std::uint32_t i = 0; i < bits->words && i * 64 < length_; ++i) into[i] |= bits->bits()[i].load(std::memory_order_acquire);
}

void union_walk::note_reader(const kvc::core::run& in, std::uint32_t slot, std::uint32_t who, slot_owner reader, cell_word word) {
  if (const runner& own = runners_[who]; !own.is_on) {
    if (own.is_listed || !pools_before_.is_on) return;
    join(who, reader.worker);  // it was met before, but held only what the query does not have
  }
  note(in, slot, who, reader.medium, word);
}

void union_walk::visit(const kvc::core::run& in, std::uint32_t slot, cell_word word) {
  using role = runner::role;
  deepest_ = std::max(deepest_, word.has_more() ? length_ : word.cutoff());
  if (slot >= roster_.slots()) return;  // taken after the query began
  const slot_owner owner = slots_->owner(slot);
  if ((mask_of(owner.medium) & scope_->media) == 0) return;
  const std::uint32_t who = roster_.number(slot, owner);
  switch (meet(who, owner.worker)) {
    case role::nobody: return;
    case role::reader: return note_reader(in, slot, who, owner, word);
    case role::shared_pool: return note(in, slot, the_pools, owner.medium, word);  // behind their end it still counts for others
    case role::private_pool: break;
  }
  for (const worker_id user : scope_->private_pools[runners_[who].row].users) {
    const std::uint32_t number = roster_.number_of(user);
    if (meet(number, user) == role::reader) note_reader(in, slot, number, {user, owner.medium}, word);
  }
}

/// Looks up the blocks at the place of the run in hand that stand in no run, up to one that nobody holds at all.
template <class Walk>
void union_walk::visit_lone(const run_directory& directory, Walk& query) {
  const auto is_same = [](const holder& left, const holder& right) { return left.worker == right.worker && left.medium == right.medium; };
  std::uint32_t from = 0;
  std::uint32_t offset = 0;
  lone_before_.clear();
  for (; offset < length_; ++offset) {
    const bool is_lone = directory.read(query.next(base_ + offset), lone_);
    if (!is_lone && offset >= deepest_) break;
    if (std::ranges::equal(lone_, lone_before_, is_same)) continue;  // as nearly all are: who holds a block holds its neighbours
    visit_lone_blocks(lone_before_, from, offset);
    lone_before_.swap(lone_);
    from = offset;
  }
  visit_lone_blocks(lone_before_, from, offset);
}

/// How many leading blocks of the run in hand `own` and the pools hold together on `media`.
std::uint32_t union_walk::covered(const runner& own, media_mask media) const {
  const runner& pools = runners_[the_pools];
  std::uint32_t until = 0;
  media_mask more = 0;
  for (const runner* const one : {&own, &pools}) {
    if (one->run != run_) continue;
    if ((one->full & media) != 0) return length_;
    each_medium(one->partial & media, [&](std::size_t medium) { until = std::max<std::uint32_t>(until, one->cut[medium]); });
    more |= one->more & media;
  }
  for (bool has_grown = more != 0; has_grown && until < length_;) {
    const std::uint32_t before = until;
    for (const runner* const one : {&own, &pools}) {
      if (one->run != run_ || (one->more & media) == 0) continue;
      for (std::uint32_t each = one->first_remnant; each != no_remnant; each = remnants_[each].next) {
        if ((remnants_[each].medium & media) != 0) until = held_until(remnants_[each], until);
      }
    }
    has_grown = until != before;
  }
  return until;
}

/// Whether a worker that is new in this run holds a block up to which, it left out, the pools carry everything.
bool union_walk::may_join(const runner& own, std::uint32_t pooled) const {
  if (own.run != run_) return false;
  bool holds_first = own.full != 0;
  each_medium(own.partial, [&](std::size_t medium) { holds_first = holds_first || own.cut[medium] != 0; });
  for (std::uint32_t each = own.more == 0 ? no_remnant : own.first_remnant; each != no_remnant && !holds_first;
       each = remnants_[each].next) {
    holds_first = holds_any(remnants_[each], pooled);
  }
  return holds_first;
}

/// Takes a runner through the run in hand, or to its end.
void union_walk::settle(runner& own) {
  if (own.run == run_ && (own.alone & ~own.full) == 0 && own.alone != 0 && (!own.is_on_device_or_host || (own.full & device_and_host) != 0))
    return;
  each_medium(own.alone, [&](std::size_t medium) {
    const auto only = static_cast<media_mask>(1U << medium);
    const std::uint32_t until = covered(own, only);
    if (until == length_) return;
    own.alone = static_cast<media_mask>(own.alone & ~only);
    row_of(own).on[medium] = base_ + until;
  });
  if (own.is_on_device_or_host) {
    const std::uint32_t until = covered(own, device_and_host);
    own.is_on_device_or_host = until == length_;
    if (until < length_) row_of(own).device_or_host = base_ + until;
  }
  if (own.alone != 0 || own.is_on_device_or_host) return;
  const std::uint32_t until = covered(own, media_);
  own.is_on = until == length_;
  if (until < length_) row_of(own).any = base_ + until;
}

/// All of a runner that holds every block so far ends at `depth`.
void union_walk::end_at(runner& own, std::uint32_t depth) noexcept {
  if (!own.is_on) return;
  worker_depth& row = row_of(own);
  each_medium(own.alone, [&](std::size_t medium) { row.on[medium] = depth; });
  if (own.is_on_device_or_host) row.device_or_host = depth;
  row.any = depth;
  own.is_on = false;
}

void union_walk::settle_run() {
  runner& pools = runners_[the_pools];
  const bool has_pooled = pools.run == run_;
  const std::uint32_t pooled = pools.is_on && has_pooled ? covered(pools, media_) : 0;
  for (const std::uint32_t who : joining_) {
    runner& fresh = runners_[who];
    fresh.is_listed = may_join(fresh, pooled);
    fresh.is_on = fresh.is_listed;
    if (fresh.is_listed) active_.push_back(who);
  }
  std::size_t kept = 0;
  for (const std::uint32_t who : active_) {
    runner& own = runners_[who];
    if (own.run == run_ || has_pooled) {
      settle(own);
    } else {
      end_at(own, base_);
    }
    if (own.is_on) active_[kept++] = who;
  }
  active_.resize(kept);
  if (!pools.is_on) return;
  if (has_pooled) {
    settle(pools);
  } else {
    end_at(pools, base_);
  }
}

void union_walk::tell(std::uint32_t depth) {
  for (const std::uint32_t who : active_) end_at(runners_[who], depth);
  end_at(runners_[the_pools], depth);
  std::vector<worker_depth>& rows = out_->workers;
  std::size_t kept = 0;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    if (!runners_[rows_[row]].is_listed) continue;
    if (kept != row) rows[kept] = rows[row];
    ++kept;
  }
  rows.resize(kept);
  if (!std::ranges::is_sorted(rows, {}, &worker_depth::worker)) std::ranges::sort(rows, {}, &worker_depth::worker);
}

/// The next blocks of the query are in hand, `length` ones from `at` on.
void union_walk::enter(std::size_t at, std::uint32_t length) {
  ++run_;
  base_ = static_cast<std::uint32_t>(at);
  length_ = length;
  deepest_ = 0;
  remnants_.clear();
  bits_.clear();
  joining_.clear();
  pools_before_ = runners_[the_pools];
}

void union_walk::visit_run(const kvc::core::run& in) {
  note_holes(in);
  in.each_cell([&](std::uint32_t slot, cell_word word) { visit(in, slot, word); });
}

template <class Walk>
void union_walk::run(const run_store& runs, const Walk& query, const match_scope& scope, match_result& out) {
  const std::uint32_t round = runs.round();
  const run_directory& directory = runs.directory();
  const bool has_lone = directory.lone_blocks() != 0;
  for (bool is_whole = false; !is_whole;) {
    begin(runs, scope, out);
    is_whole = true;
    Walk rolling = query;
    run_segment here;
    bool is_in_run = true;
    std::size_t at = 0;
    while (at < query.size()) {
      is_in_run = is_in_run && next_segment(directory, query, here, at, here);
      if (!is_in_run && !has_lone) break;
      enter(at, is_in_run ? here.length : static_cast<std::uint32_t>(std::min<std::size_t>(query.size() - at, max_run_blocks)));
      if (is_in_run) {
        here.in->note_use(round);
        visit_run(*here.in);
      }
      if (has_lone) visit_lone(directory, rolling);
      settle_run();
      // Cells read after a cut speak of other blocks than those compared before it (see run_store::try_cut): once more, from the start.
      is_whole = !is_in_run || !here.was_cut();
      at += length_;
      if (!is_whole || (active_.empty() && !runners_[the_pools].is_on)) break;
    }
    if (is_whole) tell(static_cast<std::uint32_t>(at));
  }
}

template void union_walk::run(const run_store&, const local_walk&, const match_scope&, match_result&);
template void union_walk::run(const run_store&, const sequence_walk&, const match_scope&, match_result&);

}  // namespace kvc::core
