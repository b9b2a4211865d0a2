#include "core/lane_blocks.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <limits>
#include <utility>

#include "core/block_hasher.hpp"
#include "core/bring_near.hpp"
#include "core/copy_count.hpp"
#include "core/quiescence.hpp"
#include "core/run_visits.hpp"

namespace kvc::core {

lane_blocks::lane_blocks(options with)
    : options_(std::move(with)),
      holdings_(options_.worker, options_.lane ? options_.lane : std::make_shared<lane_names>()),
      ages_(options_.orphans ? options_.orphans : std::make_shared<orphan_line>(options_.max_orphans)) {}

lane_blocks::~lane_blocks() {
  forget_arrivals();
  apply_tally nobody_reads;
  while (!clear_some(all_media, {}, std::numeric_limits<std::size_t>::max(), nobody_reads)) continue;
  // A clearing that was under way may have been a narrower one, which the loop above only finished.
  while (known_ != 0) (void)clear_some(all_media, {}, std::numeric_limits<std::size_t>::max(), nobody_reads);
  name_walk at;
  for (std::vector<engine_hash> names; waiting_.next_bucket(at, names);) {
    for (const engine_hash name : names) forget_orphan(name);  // the line may be longer-lived
  }
}

std::uint16_t lane_blocks::home_index(const std::shared_ptr<partition>& home) {
  auto index = static_cast<std::size_t>(std::ranges::find(homes_, home) - homes_.begin());  // few: bounded by event_applier
  if (index == homes_.size()) {
    const auto counted = home->entries().enroll();
    index = static_cast<std::size_t>(std::ranges::find(is_free_, true) - is_free_.begin());
    const std::size_t size = std::max(homes_.size(), index + 1);
    homes_.reserve(size);
    entries_.reserve(size);
    is_free_.reserve(size);  // whatever may throw has been done
    homes_.resize(size);
    entries_.resize(size);
    is_free_.resize(size);
    homes_[index] = home;
    entries_[index] = counted;
  }
  is_free_[index] = false;
  if (space_ == 0) space_ = home->index().number();
  return static_cast<std::uint16_t>(index);
}

void lane_blocks::collect_homes(std::set<const partition*>& busy) const {
  name_walk at;
  for (std::vector<engine_hash> names; waiting_.next_bucket(at, names);) {
    for (const engine_hash name : names) busy.insert(homes_[waiting_.find(name)->home].get());
  }
  for (std::size_t i = 0; i < homes_.size(); ++i) {
    if (entries_[i]->entries.get() != 0) busy.insert(homes_[i].get());
  }
}

void lane_blocks::keep_homes(const std::set<const partition*>& busy) {
  for (std::size_t i = 0; i < homes_.size(); ++i) is_free_[i] = !busy.contains(homes_[i].get());
  if (std::ranges::find(is_free_, false) != is_free_.end()) return;
  homes_.clear();
  entries_.clear();
  is_free_.clear();
}

void lane_blocks::count_held(std::uint16_t home, medium_id medium, std::uint64_t more) {
  held_[static_cast<std::size_t>(medium)] += more;
  entries_[home]->entries.add(more);
}

void lane_blocks::count_gone(std::uint16_t home, medium_id medium, std::uint64_t fewer) {
  held_[static_cast<std::size_t>(medium)] -= fewer;
  entries_[home]->entries.subtract(fewer);
}

bool lane_blocks::is_same_block(const place& left, const place& right) const {
  if (left.home != right.home) return false;
  if (left.where.in != nullptr && right.where.in != nullptr) return left.where == right.where;
  return hash_of(left) == hash_of(right);
}

seq_hash lane_blocks::hash_of(const place& of) const {
  return of.where.in == nullptr ? of.block : seq_hash_at(*of.where.in, of.where.offset, homes_[of.home]->seed());
}

std::optional<lane_blocks::place> lane_blocks::known_place(engine_hash name, std::uint16_t home, std::optional<medium_id> first_on) {
  if (const copies* const odd = odd_.find(name); odd != nullptr) {
    const copy* best = nullptr;
    for (const copy& each : *odd) {  // the newest comes last
      if (each.where.home == home && (best == nullptr || best->medium != first_on || each.medium == first_on)) best = &each;
    }
    return best == nullptr ? std::nullopt : std::optional(best->where);
  }
  const auto block = holdings_.find_plain(space_, name);
  if (!block || block->home != home) return std::nullopt;
  return place{{block->in, block->offset}, {}, block->home};
}

std::optional<lane_blocks::place> lane_blocks::any_place(engine_hash name) {
  if (const copies* const odd = odd_.find(name); odd != nullptr) return odd->back().where;
  const auto block = holdings_.find_plain(space_, name);
  if (!block) return std::nullopt;
  return place{{block->in, block->offset}, {}, block->home};
}

void lane_blocks::expect(unsigned step, const engine_hash* parent, std::span<const engine_hash> names) const noexcept {
  if (step == 0) {
    constexpr std::size_t line_bytes = 64;
    const auto* const first = reinterpret_cast<const std::byte*>(this);
    for (std::size_t at = 0; at < sizeof(*this); at += line_bytes) bring_within_reach(first + at);
  } else if (step == 1) {
    if (!entries_.empty()) bring_within_reach(entries_.front().get());
    holdings_.expect_change();
    if (parent != nullptr) {  // before the names, of which there may be many: the next step begins with it
      if (!holdings_.is_next_stored(*parent)) holdings_.prefetch(space_, *parent);
      if (!names.empty()) holdings_.note_stored_soon(names.back());
    }
    holdings_.prefetch(space_, names);
  } else if (const engine_hash* const leading = parent != nullptr ? parent : names.data(); leading != nullptr) {
    const bool is_near = parent != nullptr ? holdings_.is_next_stored(*parent) : holdings_.is_next_removed(*leading);
    if (!is_near) holdings_.expect(step, space_, *leading);
  }
}

void lane_blocks::store(const store_command& command, apply_tally& tally) {
  std::size_t joins = std::numeric_limits<std::size_t>::max();
  [[maybe_unused]] const stored_part all = store_some(command, joins, tally);
  assert(all.names == command.names.size() && !has_arrivals());
}

lane_blocks::stored_part lane_blocks::store_some(const store_command& command, std::size_t& joins, apply_tally& tally) {
  assert(!has_arrivals());
  const quiescent_scope working;
  const std::uint16_t home = home_index(command.home);
  const bool has_locals = command.link == store_link::root || command.link == store_link::parent;
  if (has_locals) holdings_.prefetch_now(space_, command.names);
  // Where the block before the one in hand stands; absent while that is unknown.
  std::optional<place> previous;
  if (command.link == store_link::parent) previous = known_place(command.parent, home, command.medium);
  visit_end pinned(runs_of(home), nullptr);  // the run of `previous`, which must not die before the next block is hung behind it
  std::size_t awaited = 0;                   // the end of what may be stored before somebody joins
  stored_part done;

  while (done.names < command.names.size()) {
    const std::size_t i = done.names;
    const engine_hash name = command.names[i];
    const bool is_first = command.link == store_link::root && i == 0;
    if (has_locals && (is_first || (previous && previous->where.in != nullptr))) {
      if (i >= awaited) awaited = end_of_unawaited(command.names, i);
      const run_stretch part = store_stretch(previous ? &*previous : nullptr, pinned.is_any() ? 1 : 0, command, i, awaited, home, tally);
      pinned.end();
      if (part.in == nullptr) {
        tally.skipped += command.names.size() - i;
        done = {command.names.size(), false};
        break;
      }
      pinned.take(part.in);
      previous = place{{part.in, part.start + part.count - 1}, {}, home};
      done.names += part.count;
    } else {
      const std::optional<place> here = place_of(command, i, home, previous);
      if (here) {
        store_one(name, *here, command.medium, tally);
      } else {
        orphan lost;
        lost.home = home;
        if (has_locals) {
          lost.parent = i == 0 ? command.parent : command.names[i - 1];
          lost.local = command.locals[i];
        }
        keep_orphan(name, std::move(lost), command.medium, tally);
      }
      previous = here;
      ++done.names;
    }
    // What waited comes before what is told of next: that may move it, or say it once more.
    if (has_arrivals() && !join_some(joins, tally)) break;
  }
  pinned.end();
  return done;
}

/// Behind the first name, from number `from` on, that something waits for.
std::size_t lane_blocks::end_of_unawaited(std::span<const engine_hash> names, std::size_t from) const {
  if (waiting_.empty()) return names.size();
  const auto rest = names.subspan(from);
  const auto first = std::ranges::find_if(rest, [this](engine_hash name) { return waiting_.contains(name) || is_awaited(name); });
  return std::min(from + static_cast<std::size_t>(first - rest.begin()) + 1, names.size());
}

/// Where a block stands that is not hung into a run; absent while that is unknown.
std::optional<lane_blocks::place> lane_blocks::place_of(const store_command& command, std::size_t which, std::uint16_t home,
                                                        const std::optional<place>& previous) {
  const engine_hash name = command.names[which];
  if (command.link == store_link::standard) return place{{}, seq_hash{name.get()}, home};
  if (command.link == store_link::placed) return place{{}, command.blocks[which], home};
  // A placeholder may come without the dimensions of the partition its block is in, so that it means its name's block wherever that is.
  if (command.link == store_link::by_name) return any_place(name);
  if (previous) return place{{}, roll(previous->block, command.locals[which], command.home->seed()), home};
  return known_place(name, home, command.medium);  // its parent is unknown, but another event has told where this name stands
}

void lane_blocks::store_one(engine_hash name, const place& here, medium_id medium, apply_tally& tally) {
  const bool is_news = put(name, here, medium, 1, tally);
  if (is_news && here.where.in == nullptr) explain(name, here);
  if (is_news && !waiting_.empty()) join_waiting(name, here, tally);
}

run_stretch lane_blocks::store_stretch(const place* behind, std::uint32_t visits, const store_command& command, std::size_t from,
                                       std::size_t to, std::uint16_t home, apply_tally& tally) {
  if (!holdings_.may_open(runs_of(home), command.medium)) return {};
  const std::span<const local_hash> locals = command.locals.subspan(from, to - from);
  const run_place at = behind == nullptr ? run_place{} : behind->where;
  if (behind != nullptr) holdings_.make_way(runs_of(home), at, locals, visits);
  const run_stretch part = runs_of(home).follow(at, locals);
  visit_end until_held(runs_of(home), part.in);
  hold_stretch(part, command.names.subspan(from, part.count), home, command.medium, tally);
  explain(command.names.subspan(from, part.count), command.locals.subspan(from), part, home);
  until_held.keep();
  return part;
}

void lane_blocks::hold_stretch(const run_stretch& part, std::span<const engine_hash> names, std::uint16_t home, medium_id medium,
                               apply_tally& tally) {
  for (std::uint32_t done = 0; done < part.count;) {
    done += store_plainly(part, done, names.subspan(done), home, medium, tally);
    if (done == part.count) break;
    store_one(names[done], place{{part.in, part.start + done}, {}, home}, medium, tally);
    ++done;
  }
}

std::uint32_t lane_blocks::store_plainly(const run_stretch& part, std::uint32_t done, std::span<const engine_hash> names,
                                         std::uint16_t home, medium_id medium, apply_tally& tally) {
  if (!waiting_.empty() || !holdings_.may_open(runs_of(home), medium)) return 0;  // something may wait for each of these names
  const std::uint32_t start = part.start + done;
  if (!odd_.empty()) {
    if (!holdings_.may_extend(part.in, medium, start)) return 0;  // else every name of a long rest would be looked at once per block
    const auto odd = std::ranges::find_if(names, [&](engine_hash name) { return odd_.contains(name); });
    names = names.first(static_cast<std::size_t>(odd - names.begin()));
  }
  if (names.empty()) return 0;
  const std::uint32_t which = holdings_.open(runs_of(home), part.in, home, medium);
  const holding& in = holdings_.at(which);
  if (options_.copy_counting && start < in.cutoff) return 0;  // further copies have to be counted
  const auto extended = holdings_.extend(which, space_, start, names);
  tally.repeated += extended.repeated;
  tally.stored += extended.added;
  count_held(home, medium, extended.added);
  known_ += extended.added;
  if (holdings_.media() != mask_of(medium)) {
    for (std::uint32_t i = 0; i < extended.added; ++i) {
      if (holdings_.is_plain_elsewhere(which, start + extended.repeated + i)) --known_;
    }
  }
  holdings_.close_if_empty(which);
  return extended.repeated + extended.added;
}

bool lane_blocks::put(engine_hash name, const place& where, medium_id medium, std::uint32_t count, apply_tally& tally) {
  if (where.where.in != nullptr && !holdings_.may_open(runs_of(where.home), medium)) {
    ++tally.skipped;
    return false;
  }
  stop_waiting_elsewhere(name, where, medium);
  const copy now{where, count, medium};
  if (copies* const odd = odd_.find(name); odd != nullptr) return put_odd(name, *odd, now, tally);
  const auto block = holdings_.find_plain(space_, name);
  if (!block) {
    ++known_;
    ++tally.stored;
    count_held(where.home, medium, 1);
    if (count == 1 && put_plain(name, where, medium)) return true;
    copies& all = odd_[name];
    try {
      hold_odd(now);
    } catch (...) {
      odd_.erase(name);
      throw;
    }
    all.push_back(now);  // there is room for one
    return true;
  }
  const place stands{{block->in, block->offset}, {}, block->home};
  if (is_same_block(stands, where)) {
    if (holdings_.plain_on(*block, medium) != lane_holdings::none) {
      if (!options_.copy_counting) {
        ++tally.repeated;
        return false;
      }
    } else if (count == 1 && holdings_.may_open(runs_of(stands.home), medium) && put_plain(name, stands, medium)) {
      ++tally.stored;
      count_held(stands.home, medium, 1);
      return false;
    }
  }
  return put_odd(name, make_odd(name, *block), now, tally);
}

bool lane_blocks::put_odd(engine_hash name, copies& all, const copy& what, apply_tally& tally) {
  copy now = what;
  const bool is_news = std::ranges::none_of(all, [&](const copy& each) { return each.where.home == now.where.home; });
  const auto same =
      std::ranges::find_if(all, [&](const copy& each) { return each.medium == now.medium && is_same_block(each.where, now.where); });
  if (same != all.end()) {
    now.count = options_.copy_counting ? sum_of_copies(same->count, what.count) : 1;
    now.where = same->where;  // the block may be known in two ways; it is held in the first one
    all.erase(same);
    ++tally.repeated;
  } else {
    all.reserve(all.size() + 1);  // what is held odd without a name could never be let go of
    hold_odd(now);                // before others are let go of, so that readers never miss it
    count_held(now.where.home, now.medium, 1);
    const auto stays = [&](const copy& each) {
      return each.medium != now.medium || (says_place(name, now.where) && says_place(name, each.where));
    };
    bool has_moved = false;
    for (auto each = all.begin(); each != all.end();) {
      if (stays(*each)) {
        ++each;
        continue;
      }
      let_go(*each);
      each = all.erase(each);
      has_moved = true;
    }
    ++(has_moved ? tally.moved : tally.stored);
  }
  all.push_back(now);
  return is_news;
}

bool lane_blocks::put_plain(engine_hash name, const place& where, medium_id medium) {
  if (where.where.in == nullptr) return false;
  const std::uint32_t which = holdings_.open(runs_of(where.home), where.where.in, where.home, medium);
  if (holdings_.hold_plain(which, space_, where.where.offset, name)) return true;
  holdings_.close_if_empty(which);
  return false;
}

/// The name means, or is about to mean, more than a list can tell.
lane_blocks::copies& lane_blocks::make_odd(engine_hash name, const lane_holdings::plain_block& block) {
  copies& all = odd_[name];
  try {
    for (unsigned rest = holdings_.media(); rest != 0; rest &= rest - 1) {
      const auto medium = static_cast<medium_id>(std::countr_zero(rest));
      const std::uint32_t which = holdings_.plain_on(block, medium);
      if (which == lane_holdings::none) continue;
      all.reserve(all.size() + 1);              // what is held odd without a name could never be let go of
      holdings_.hold_odd(which, block.offset);  // first, so that readers never miss the block
      all.push_back({{{block.in, block.offset}, {}, block.home}, 1, medium});
      holdings_.release_plain(which, block.offset);
    }
  } catch (...) {
    if (all.empty()) odd_.erase(name);  // a name that means nothing
    throw;
  }
  return all;
}

void lane_blocks::hold_odd(const copy& which) {
  const place& at = which.where;
  if (at.where.in == nullptr) {
    homes_[at.home]->index().hold(at.block, options_.worker, which.medium);
  } else {
    holdings_.hold_odd(holdings_.open(runs_of(at.home), at.where.in, at.home, which.medium), at.where.offset);
  }
}

std::uint32_t lane_blocks::let_go(const copy& which) {
  const place& at = which.where;
  std::uint32_t listed = 0;
  if (at.where.in == nullptr) {
    homes_[at.home]->index().release(at.block, options_.worker, which.medium);
  } else {
    const std::uint32_t in = holdings_.find(at.where.in, which.medium);
    holdings_.release_odd(in, at.where.offset);
    listed = holdings_.try_close_if_empty(in);  // the copy has gone, and its name has to go with it
  }
  count_gone(at.home, which.medium, 1);
  return listed;
}

void lane_blocks::let_go_plain(std::uint32_t which, std::uint32_t offset) {
  const bool is_last = !holdings_.is_plain_elsewhere(which, offset);
  const std::uint16_t home = holdings_.at(which).home;
  const medium_id medium = holdings_.at(which).medium;
  holdings_.release_plain(which, offset);  // may throw, and then nothing has changed
  if (is_last) --known_;
  count_gone(home, medium, 1);
  holdings_.close_if_empty(which);
}

}  // namespace kvc::core
