// How reblocker finds out where pages begin, and what follows for those behind them.
#include <algorithm>
#include <utility>

#include "core/block_hasher.hpp"
#include "core/reblocker.hpp"

namespace kvc::core {

std::optional<engine_hash> reblocker::last_block(const page& of) noexcept {
  return of.blocks == 0 ? of.begins.behind : std::optional(block_name(of, of.blocks - 1));
}

std::optional<seq_hash> reblocker::place_of(engine_hash name, const partition* home) {
  const auto means = blocks_->meaning_of(name);
  return means && means->home == home ? std::optional(means->block) : std::nullopt;
}

std::optional<seq_hash> reblocker::find_first(const page& of) {
  if (of.blocks == 0 || of.begins.borrowed == 0 || of.begins.is_guess || (of.begins.behind && !of.begins.place)) return std::nullopt;
  if (!collect_borrowed(of, std::nullopt, tokens_)) return std::nullopt;
  const std::uint32_t block_tokens = of.home->key().block_size;
  tokens_.insert(tokens_.end(), of.tokens.begin(), of.tokens.begin() + static_cast<std::ptrdiff_t>(block_tokens - tokens_.size()));
  locals_.clear();
  hash_blocks(tokens_, block_tokens, of.home->seed(), locals_);
  return of.begins.behind ? roll(*of.begins.place, locals_.front(), of.home->seed()) : first_in_sequence(locals_.front());
}

std::optional<seq_hash> reblocker::place_of_last(const page& of) {
  if (of.blocks == 0) return of.begins.place;
  const std::optional<seq_hash> held = place_of(*last_block(of), of.home.get());
  return held || of.blocks != 1 ? held : of.first;  // only a first block may be missing on each medium that its page is on
}

reblocker::beginning reblocker::beginning_behind(const std::optional<engine_hash>& parent, const std::shared_ptr<partition>& home) {
  if (!parent) return {};
  const page* const before = pages_.find(*parent);
  if (before == nullptr || !before->is_held() || before->home != home) {
    const std::optional<seq_hash> block = place_of(*parent, home.get());
    return {.behind = parent, .place = block, .borrowed = 0, .is_guess = !block};
  }
  const std::optional<seq_hash> last = place_of_last(*before);
  const bool is_guess = before->begins.is_guess && (before->pending != 0 || !last);
  return {.behind = last_block(*before), .place = last, .borrowed = before->pending, .is_guess = is_guess};
}

bool reblocker::has_other_tokens(const page& known, std::span<const std::uint32_t> tokens) {
  if (!known.tokens.empty()) return !std::ranges::equal(known.tokens, tokens);
  // It begins and ends with a block, so its last block, which bears its name, tells of all before it.
  const std::optional<seq_hash> held = place_of(known.name, known.home.get());
  if (!held || (known.begins.behind && !known.begins.place)) return false;
  locals_.clear();
  hash_blocks(tokens, known.home->key().block_size, known.home->seed(), locals_);
  std::optional<seq_hash> last = known.begins.place;
  for (const local_hash local : locals_) last = last ? roll(*last, local, known.home->seed()) : first_in_sequence(local);
  return last != held;
}

reblocker::retelling reblocker::judge(const page& known, const page_stretch& from, const std::optional<engine_hash>& parent,
                                      std::span<const std::uint32_t> tokens) {
  if (known.home != from.home || known.size != from.page_tokens) return retelling::of_another;
  if (known.parent == parent) return retelling::in_place;
  if (has_other_tokens(known, tokens)) return retelling::of_another;
  if (!parent) return retelling::in_place;  // connectors leave it out
  const beginning told = beginning_behind(parent, known.home);
  const bool may_be_moved = !known.parent || known.begins.is_doubted;
  if (told.is_guess && !known.begins.is_guess) return may_be_moved ? retelling::behind_told : retelling::in_place;
  const bool is_same_place = told.place && told.place == known.begins.place && told.borrowed == 0 && known.begins.borrowed == 0;
  if (is_same_place) return retelling::in_place;  // a page and its last block may end there under two names
  const bool is_elsewhere = known.copies.size() > 1 || !is_on(known, from.medium);
  return is_elsewhere && may_be_moved ? retelling::behind_told : retelling::of_another;
}

reblocker::page* reblocker::open_page(engine_hash name, const std::optional<engine_hash>& parent, const page_stretch& from,
                                      std::span<const std::uint32_t> tokens, apply_tally& tally) {
  // One for itself and one for the parent that it may be linked to; first of all, as what is known by name only may go with what goes.
  if (pages_.size() + 2 > most_.pages || kept_tokens_ + tokens.size() > most_.tokens) make_room(parent, tally);
  page* made = pages_.find(name);
  const bool is_known = made != nullptr;
  if (!is_known) {
    if (pages_.size() >= most_.pages) return nullptr;
    made = &pages_[name];
    made->name = name;
  }
  const beginning at = beginning_behind(parent, from.home);
  made->home = from.home;
  made->size = static_cast<std::uint32_t>(tokens.size());
  made->lacks_first = 0;
  if (is_known) --known_by_name_;
  if (!place(*made, parent, at, tokens)) {
    let_go(*made);
    return nullptr;
  }
  if (is_known) send_on(*made, std::nullopt);
  return made;
}

bool reblocker::place(page& which, const std::optional<engine_hash>& parent, const beginning& at, std::span<const std::uint32_t> tokens) {
  const std::uint32_t block_tokens = which.home->key().block_size;
  const std::uint64_t all = std::uint64_t{at.borrowed} + which.size;
  const bool keeps = at.hangs_on_parent() || all % block_tokens != 0;
  if (keeps && kept_tokens_ - which.tokens.size() + which.size > most_.tokens) return false;

  const bool stays_linked = which.lender != nullptr && which.parent == parent && at.hangs_on_parent();
  const bool begins_there = which.begins.behind == at.behind && which.begins.borrowed == at.borrowed;
  waiting_ -= which.is_waiting() ? 1 : 0;
  if (!stays_linked) unlink(which);
  which.parent = parent;
  which.begins = at;
  which.blocks = static_cast<std::uint32_t>(all / block_tokens);
  which.pending = static_cast<std::uint32_t>(all % block_tokens);
  waiting_ += which.is_waiting() ? 1 : 0;
  if (!keeps) {
    drop_tokens(which);
  } else if (which.tokens.empty()) {
    which.tokens.assign(tokens.begin(), tokens.end());
    kept_tokens_ += which.tokens.size();
  }
  if (at.hangs_on_parent() && !stays_linked) link(which);
  const std::optional<seq_hash> first = find_first(which);
  if (first || !begins_there) which.first = first;
  return true;
}

void reblocker::move(page& which, const std::optional<engine_hash>& parent, const beginning& to, std::span<const std::uint32_t> tokens,
                     apply_tally& tally) {
  const boost::container::small_vector<std::uint32_t, 64> all(tokens.begin(), tokens.end());  // they may be the ones it keeps, and drops
  for (const auto& [medium, count] : which.copies) take_blocks(which, medium, tally);
  if (!place(which, parent, to, all)) {  // it stays where it was
    (void)place(which, which.parent, which.begins, all);
    ++tally.beyond_pages;
  }
  for (const auto& [medium, count] : which.copies) store_blocks(which, medium, all, tally);
  send_on(which, std::nullopt);
}

bool reblocker::look_again(page& which, const std::optional<engine_hash>& parent, std::span<const std::uint32_t> tokens,
                           apply_tally& tally) {
  beginning now = beginning_behind(parent, which.home);
  if (now.is_guess && !which.begins.is_guess) {
    now = which.begins;  // the parent is away, has come back without its own, or is new and not known yet
    now.is_doubted = now.is_doubted || parent != which.parent;
  } else if (!now.place && now.behind == which.begins.behind) {
    now.place = which.begins.place;
  }
  const bool stands_elsewhere = now.place && which.begins.place && now.place != which.begins.place;  // the page before has been moved
  if (stands_elsewhere || now.behind != which.begins.behind || now.borrowed != which.begins.borrowed) {
    move(which, parent, now, tokens, tally);
    return true;
  }
  const bool is_as_guessed = now != which.begins || parent != which.parent;
  if (is_as_guessed) {
    const bool is_found = now.place && !which.begins.place;
    if (is_found && which.blocks != 0 && !place_of(*now.behind, which.home.get())) {
      move(which, parent, now, tokens, tally);  // its blocks would wait for ever for the name of one that nobody holds
      return true;
    }
    (void)place(which, parent, now, tokens);
    send_on(which, std::nullopt);
  }
  if (!which.first && find_first(which)) {
    move(which, parent, now, tokens, tally);
    return true;
  }
  for (const auto& [medium, count] : which.copies) {
    if (!check_first(which, medium, tally) && !is_as_guessed) send_on(which, medium);
  }
  return is_as_guessed;
}

bool reblocker::settle(std::size_t budget, apply_tally& tally) {
  constexpr std::uint32_t beginnings = std::uint32_t{1} << 31U;
  static_assert(max_media < 31);
  while (!to_settle_.empty()) {
    const errand at = to_settle_.back();
    if (at.next == nullptr) {
      to_settle_.pop_back();
      continue;
    }
    if (budget == 0) return false;
    page& each = *at.next;
    turn_to(to_settle_.back(), each.next);
    // Once is enough, and publishers can say that pages stand behind each other in a ring.
    const std::uint32_t what = at.medium ? std::uint32_t{mask_of(*at.medium)} : beginnings;
    if (each.episode != episode_) each.looked_at = 0;
    each.episode = episode_;
    if ((each.looked_at & what) != 0) continue;
    each.looked_at |= what;
    budget -= std::min<std::size_t>(budget, 1 + each.blocks);
    if (!at.medium) {
      look_again(each, each.parent, each.tokens, tally);
    } else if (is_on(each, *at.medium) && !check_first(each, *at.medium, tally)) {
      send_on(each, at.medium);
    }
  }
  return true;
}

void reblocker::note_blocks(std::span<const engine_hash> names) {
  for (const engine_hash name : names) note_block(name);
}

void reblocker::note_block(engine_hash name) {
  if (!is_short_of_parents()) return;
  page* const known = pages_.find(name);
  if (known != nullptr && !known->is_held()) send_on(*known, std::nullopt);
}

void reblocker::send_on(page& lender, std::optional<medium_id> medium) {
  if (lender.borrowers == nullptr) return;
  if (to_settle_.empty()) {
    ++episode_;
    to_settle_.emplace_back();
  } else if (to_settle_.back().next != nullptr) {  // else it is done, and a long chain needs no long list
    to_settle_.emplace_back();
  }
  to_settle_.back().medium = medium;
  turn_to(to_settle_.back(), lender.borrowers);
}

void reblocker::abandon() noexcept {
  for (errand& each : to_settle_) turn_to(each, nullptr);
  to_settle_.clear();
}

void reblocker::turn_to(errand& each, page* next) noexcept {
  if (each.next != nullptr) --each.next->awaited;
  if (next != nullptr) ++next->awaited;
  each.next = next;
}

void reblocker::drop_tokens(page& of) noexcept {
  kept_tokens_ -= of.tokens.size();
  of.tokens = {};
}

void reblocker::link(page& borrower) {
  if (*borrower.parent == borrower.name) return;
  page* lender = pages_.find(*borrower.parent);
  if (lender == nullptr) {
    if (pages_.size() >= most_.pages) return;  // it will not hear of its parent
    lender = &pages_[*borrower.parent];
    lender->name = *borrower.parent;
    ++known_by_name_;
  }
  borrower.lender = lender;
  borrower.next = lender->borrowers;
  if (lender->borrowers != nullptr) lender->borrowers->previous = &borrower;
  lender->borrowers = &borrower;
}

void reblocker::unlink(page& borrower) {
  page* const lender = std::exchange(borrower.lender, nullptr);
  if (lender == nullptr) return;
  for (auto each = to_settle_.rbegin(); borrower.awaited != 0; ++each) {
    if (each->next == &borrower) turn_to(*each, borrower.next);
  }
  if (borrower.next != nullptr) borrower.next->previous = borrower.previous;
  (borrower.previous != nullptr ? borrower.previous->next : lender->borrowers) = borrower.next;
  borrower.previous = borrower.next = nullptr;
  if (lender->borrowers == nullptr && !lender->is_held()) {  // it was known for its borrowers only
    --known_by_name_;
    pages_.erase(lender->name);
  }
}

void reblocker::let_go(page& gone) {
  waiting_ -= gone.is_waiting() ? 1 : 0;
  unlink(gone);
  drop_tokens(gone);
  if (gone.borrowers == nullptr) {
    pages_.erase(gone.name);
    return;
  }
  ++known_by_name_;
  gone.home.reset();
  gone.begins = {};
  gone.first.reset();
  gone.blocks = gone.pending = 0;
}

}  // namespace kvc::core
