#include "core/lane_holdings.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "core/bring_near.hpp"
#include "core/hash_compare.hpp"
#include "core/quiescence.hpp"

namespace kvc::core {
namespace {

bool bit_of(const std::vector<std::uint64_t>& bits, std::uint32_t offset) noexcept {
  return offset / 64 < bits.size() && (bits[offset / 64] >> (offset % 64) & 1) != 0;
}

std::uint32_t words_for(std::uint32_t blocks) noexcept {
  return (blocks + 63) / 64;
}

/// The first block from `from` on that is not held.
std::uint32_t first_gap(const held_bits& held, std::uint32_t from) noexcept {
  std::uint32_t at = from;
  while (at < held.words * 64) {
    const auto ones = static_cast<std::uint32_t>(std::countr_one(held.bits()[at / 64].load(std::memory_order_relaxed) >> (at % 64)));
    at += ones;
    if (ones == 0 || at % 64 != 0) break;
  }
  return at;
}

}  // namespace

lane_holdings::lane_holdings(worker_id worker, std::shared_ptr<lane_names> names) : worker_(worker), names_(std::move(names)) {
  names_->enroll(worker_, this);
}

lane_holdings::~lane_holdings() {
  names_->dismiss(worker_);
}

void lane_holdings::expect(unsigned step, std::uint64_t space, engine_hash name) const noexcept {
  if (const std::uint32_t guess = names_->expect(step, space, name); guess < all_.size()) bring_within_reach(&all_[guess]);
  if (step == 3 && last_trunk_ < all_.size()) bring_within_reach(&all_[last_trunk_]);
}

std::uint32_t lane_holdings::open(run_store& store, run* in, std::uint16_t home, medium_id medium) {
  // A run that has no user at all is new, and whoever made it is about to enter the first.
  if (in->users() != 0) {
    if (const std::uint32_t there = find_guessing(in, medium, last_found_); there != none) return there;
  }
  if (first_unused_ == none) {
    all_.grow();
    first_unused_ = static_cast<std::uint32_t>(all_.size() - 1);
    all_[first_unused_].slot = none;
  }
  const std::uint32_t which = first_unused_;  // until it is in use, it stays on the list: what follows may throw
  const std::uint32_t slot = begin_slot(store, medium);
  holding& opened = all_[which];
  try {
    opened.is_found_in_run = note_holding(in, medium, which);
  } catch (...) {
    end_slot(store, medium);
    throw;
  }
  first_unused_ = opened.slot;
  opened.in = in;
  opened.store = &store;
  opened.home = home;
  opened.medium = medium;
  opened.slot = slot;
  run_store::use(*in);
  media_ |= mask_of(medium);
  ++in_use_;
  return which;
}

std::uint32_t lane_holdings::close_if_empty(std::uint32_t which) {
  holding& closed = all_[which];
  // A record of nothing is what something thrown has left.
  if (closed.more && closed.more->odd.empty() && closed.more->count == 0) {
    closed.store->close_bits(*closed.in, std::exchange(closed.more, nullptr)->held);
  }
  if (closed.more || closed.cutoff != 0) return 0;
  std::uint32_t names = 0;
  if (const std::uint32_t list = std::exchange(closed.list, holding::no_list); list != holding::no_list && --names_->at(list).users == 0) {
    names = names_->at(list).count;
    names_->close(list);
  }
  end_slot(*closed.store, closed.medium);  // may throw, and then nothing of the rest has happened
  forget_holding(closed);
  run_store& store = *closed.store;
  run* const in = closed.in;
  closed = holding{};
  closed.slot = std::exchange(first_unused_, which);
  --in_use_;
  store.end_use(in);
  return names;
}

std::uint32_t lane_holdings::try_close_if_empty(std::uint32_t which) noexcept {
  try {
    return close_if_empty(which);
  } catch (const std::bad_alloc&) {
    return 0;
  }
}

bool lane_holdings::give_back_some(std::size_t& budget) noexcept {
  constexpr std::uint32_t few = 64;  // a page of them, which a worker that comes and goes need not take anew each time
  if (in_use_ == 0 && end() > few && left_.size() == 0) {
    std::swap(all_, left_);
    first_unused_ = last_trunk_ = last_found_ = none;
    stored_ = removed_ = {};
  }
  for (; left_.size() != 0; --budget) {
    if (budget == 0) return false;
    left_.drop_last_page();
  }
  left_.clear();
  return true;
}

bool lane_holdings::may_open(const run_store& store, medium_id medium) const {
  const bool has_slot = std::ranges::any_of(slots_, [&](const slot_use& each) { return each.store == &store && each.medium == medium; });
  return has_slot || store.slots().has_room();
}

std::uint32_t lane_holdings::begin_slot(run_store& store, medium_id medium) {
  auto found = std::ranges::find_if(slots_, [&](const slot_use& each) { return each.store == &store && each.medium == medium; });
  if (found == slots_.end()) {
    slots_.reserve(slots_.size() + 1);  // so that nothing throws once the slot is taken
    slots_.push_back({&store, store.slots().take(worker_, medium), 0, medium});
    found = std::prev(slots_.end());
  }
  ++found->holdings;
  return found->slot;
}

void lane_holdings::end_slot(run_store& store, medium_id medium) {
  const auto found = std::ranges::find_if(slots_, [&](const slot_use& each) { return each.store == &store && each.medium == medium; });
  if (found->holdings == 1) {
    if (found->slot != no_slot) store.slots().give_back(found->slot);  // first, since it may throw
    slots_.erase(found);
  } else {
    --found->holdings;
  }
}

void lane_holdings::publish(holding& changed) {
  if (changed.slot == no_slot) return;  // counted by the slot table; better not known than known wrongly
  if (changed.cutoff == 0 && !changed.more) {
    if (changed.cell) changed.store->give_back(*changed.in, std::exchange(changed.cell, cell_ref{}));
    return;
  }
  const cell_word word(changed.cutoff, changed.more != nullptr);
  if (changed.cell) {
    changed.cell.write(changed.slot, word);
  } else {
    changed.cell = changed.store->take_cell(*changed.in, changed.slot, word);
  }
}

void lane_holdings::choose_list(holding& in, std::uint64_t space, std::uint32_t start, engine_hash name) {
  if (in.list != holding::no_list) return;
  for (unsigned rest = media_; rest != 0; rest &= rest - 1) {
    const std::uint32_t other = find(in.in, static_cast<medium_id>(std::countr_zero(rest)));
    if (other != none && all_[other].list != holding::no_list) in.list = all_[other].list;
  }
  if (in.list == holding::no_list) {
    // A list has users, each of which holds something of its run.
    const auto spot = in.in->users() == 1 ? std::optional<name_spot>() : names_->find(space, name);
    const bool is_here = spot && spot->offset == start && names_->at(spot->list).in == in.in;
    in.list = is_here ? spot->list : names_->open(in.in, space, start);
  }
  ++names_->at(in.list).users;
}

bool lane_holdings::may_extend(const run* in, medium_id medium, std::uint32_t start) const {
  const std::uint32_t which = find(in, medium);
  return which == none ? start == 0 : !all_[which].more && start <= all_[which].cutoff;
}

lane_holdings::extended lane_holdings::extend(std::uint32_t which, std::uint64_t space, std::uint32_t start,
                                              std::span<const engine_hash> names) {
  holding& in = all_[which];
  extended done;
  if (in.more || start > in.cutoff) return done;
  choose_list(in, space, start, names[0]);
  const auto overlap = std::min<std::uint32_t>(in.cutoff - start, static_cast<std::uint32_t>(names.size()));
  if (overlap != 0) {
    done.repeated = names_->fit(in.list, start, names.first(overlap));
    if (done.repeated != 0) remember(stored_, which, start + done.repeated - 1);
    if (done.repeated < overlap || overlap == names.size()) return done;
  }
  const auto news = names.subspan(overlap);
  done.added = names_->fit(in.list, in.cutoff, news);
  if (done.added == 0 && names_->at(in.list).users == 1 && in.cutoff < names_->at(in.list).end()) {
    names_->shorten(in.list, in.cutoff);  // names of blocks that nobody holds any more
    done.added = names_->fit(in.list, in.cutoff, news);
  }
  if (done.added == 0) return done;
  in.cutoff += done.added;
  try {
    publish(in);
  } catch (...) {
    in.cutoff -= done.added;
    throw;
  }
  remember(stored_, which, in.cutoff - 1);
  return done;
}

/// Makes room for exceptions up to block `offset`.
void lane_holdings::record(holding& of, std::uint32_t offset) {
  const std::uint32_t words = words_for(std::max(offset + 1, of.cutoff));
  if (!of.more) {
    auto made = std::make_unique<holding::exceptions>();
    made->plain.resize(words);
    made->held = of.store->open_bits(*of.in, of.slot, words);  // last, since all of these may throw
    of.more = std::move(made);
    of.more->count = of.cutoff;
    for (std::uint32_t word = 0; word < words_for(of.cutoff); ++word) {
      const std::uint32_t left = of.cutoff - word * 64;
      const std::uint64_t bits = left >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << left) - 1;
      of.more->plain[word] = bits;
      of.more->held->bits()[word].store(bits, std::memory_order_release);
    }
  } else if (words > of.more->held->words) {
    const std::uint32_t wider = std::max(words, of.more->held->words * 2);
    of.more->plain.resize(wider);
    of.more->held = of.store->widen_bits(*of.in, of.more->held, wider);
  }
}

/// Block `offset` begins or ceases to be held, whatever its names; moves the cutoff, ends the record when it has nothing left to say.
void lane_holdings::change(holding& of, std::uint32_t offset, bool is_held) {
  holding::exceptions& more = *of.more;
  std::atomic<std::uint64_t>& word = more.held->bits()[offset / 64];
  const std::uint64_t bit = std::uint64_t{1} << (offset % 64);
  const std::uint64_t old = word.load(std::memory_order_relaxed);
  if (((old & bit) != 0) != is_held) {
    word.store(old ^ bit, std::memory_order_release);
    is_held ? ++more.count : --more.count;
    if (!is_held && offset < of.cutoff) of.cutoff = offset;
    if (is_held && offset == of.cutoff) {
      of.cutoff = first_gap(*more.held, offset);
    }
  }
  if (more.odd.empty() && more.count == of.cutoff) {
    held_bits* const done = more.held;
    of.more.reset();
    publish(of);
    of.store->close_bits(*of.in, done);
  } else {
    publish(of);
  }
}

bool lane_holdings::hold_plain(std::uint32_t which, std::uint64_t space, std::uint32_t offset, engine_hash name) {
  holding& in = all_[which];
  choose_list(in, space, offset, name);
  if (names_->fit(in.list, offset, {&name, 1}) != 1) return false;
  if (!in.more && offset == in.cutoff) {
    ++in.cutoff;
    publish(in);
    return true;
  }
  record(in, offset);
  in.more->plain[offset / 64] |= std::uint64_t{1} << (offset % 64);
  change(in, offset, true);
  return true;
}

void lane_holdings::release_plain(std::uint32_t which, std::uint32_t offset) {
  holding& in = all_[which];
  if (!in.more && offset + 1 == in.cutoff) {
    release_plain_from(which, offset);
    return;
  }
  record(in, offset);
  in.more->plain[offset / 64] &= ~(std::uint64_t{1} << (offset % 64));
  change(in, offset, in.more->odd.contains(offset));
  if (!in.more) trim(in);
}

/// A record has ended because blocks were let go of: as after moving a cutoff, nobody may need what is behind it now.
void lane_holdings::trim(holding& of) {
  if (of.cutoff != 0 && of.list != holding::no_list && names_->at(of.list).users == 1) names_->shorten(of.list, of.cutoff);
  cut_dead_end(of, max_run_blocks);
}

std::uint32_t lane_holdings::tail_of(std::uint32_t which, std::uint32_t offset, std::span<const engine_hash> names) const {
  const holding& in = all_[which];
  if (in.more) return 0;
  const naming& list = names_->at(in.list);
  const auto most = static_cast<std::uint32_t>(names.size());
  if (offset + 1 == in.cutoff) {  // from the end backwards, as engines evict
    return offset == 0 ? 1 : 1 + list.common_backwards(offset - 1, names.subspan(1));
  }
  // In order, up to the end.
  const std::uint32_t rest = in.cutoff - offset;
  if (rest > most || in.cutoff > list.end() || offset < list.first) return 0;
  const auto* const bare = reinterpret_cast<const std::uint64_t*>(list.names + (offset - list.first));
  return common_prefix(bare, reinterpret_cast<const std::uint64_t*>(names.data()), rest) == rest ? rest : 0;
}

void lane_holdings::release_plain_from(std::uint32_t which, std::uint32_t start) {
  if (!all_[which].more) {
    const quiescent_scope reading;
    holding& in = all_[which];
    const std::uint32_t old_cutoff = in.cutoff;
    if (start == 0) {
      in.store->expect_end(*in.in);
    } else if (may_be_dead_end(in, old_cutoff, start)) {
      in.store->directory().expect(in.in->first_hash);  // to tell that the column is another
    }
    in.cutoff = std::min(in.cutoff, start);
    if (start != 0 && names_->at(in.list).users == 1) names_->shorten(in.list, in.cutoff);
    publish(in);
    cut_dead_end(in, old_cutoff);
    return;
  }
  const std::vector<std::uint64_t> plain = all_[which].more->plain;
  for (auto offset = static_cast<std::uint32_t>(plain.size() * 64); offset > start; --offset) {
    if (bit_of(plain, offset - 1)) release_plain(which, offset - 1);
  }
}

bool lane_holdings::is_plain(std::uint32_t which, std::uint32_t offset) const {
  const holding& in = all_[which];
  if (in.list == holding::no_list) return false;
  return in.more ? bit_of(in.more->plain, offset) : offset < in.cutoff;
}

void lane_holdings::hold_odd(std::uint32_t which, std::uint32_t offset) {
  holding& in = all_[which];
  record(in, offset);
  ++in.more->odd[offset];
  try {
    change(in, offset, true);
  } catch (...) {
    release_odd(which, offset);
    throw;
  }
}

void lane_holdings::release_odd(std::uint32_t which, std::uint32_t offset) {
  holding& in = all_[which];
  const auto found = in.more->odd.find(offset);
  if (--found->second != 0) return;
  in.more->odd.erase(found);
  change(in, offset, bit_of(in.more->plain, offset));
  if (!in.more) trim(in);
}

}  // namespace kvc::core
