#include "core/reblocker.hpp"

#include <algorithm>
#include <utility>

#include "core/block_hasher.hpp"

namespace kvc::core {

engine_hash reblocker::block_name(engine_hash name, const page& in, std::uint32_t index) noexcept {
  if (in.pending == 0 && index + 1 == in.blocks) return name;
  // Mixed, not just added to: the names of groups are told apart by exclusive-or with multiples of a constant. (Source: the finaliser of
  // splitmix64, Steele, Lea and Flood 2014.)
  std::uint64_t mixed = name.get() + (index + std::uint64_t{1}) * 0x9E37'79B9'7F4A'7C15ULL;
  mixed = (mixed ^ (mixed >> 30U)) * 0xBF58'476D'1CE4'E5B9ULL;
  mixed = (mixed ^ (mixed >> 27U)) * 0x94D0'49BB'1331'11EBULL;
  return engine_hash{mixed ^ (mixed >> 31U)};
}

bool reblocker::names_in(engine_hash name, std::vector<engine_hash>& out) const {
  const page* const found = pages_.find(name);
  if (found == nullptr || found->copies.empty() || found->pending != 0 || found->borrowed != 0) return false;
  out.clear();
  for (std::uint32_t i = 0; i < found->blocks; ++i) out.push_back(block_name(name, *found, i));
  return !out.empty();
}

std::size_t reblocker::blocks_in(engine_hash name) const {
  const page* const found = pages_.find(name);
  return found == nullptr || found->copies.empty() ? 0 : found->blocks;
}

bool reblocker::is_on(const page& which, medium_id medium) noexcept {
  return std::ranges::any_of(which.copies, [medium](const auto& each) { return each.first == medium; });
}

bool reblocker::add_copy(page& to, medium_id medium) const {
  const auto held = std::ranges::find(to.copies, medium, &std::pair<medium_id, std::uint32_t>::first);
  if (held == to.copies.end()) {
    to.copies.emplace_back(medium, 1);
    return true;
  }
  if (copy_counting_) ++held->second;
  return false;
}

bool reblocker::collect_borrowed(engine_hash name, const page& of, medium_id medium, std::vector<std::uint32_t>& out) {
  // From the last token to the first, page by page. The lenders learn, maybe again, who has borrowed from them.
  out.clear();
  std::size_t missing = of.borrowed;
  for (page* borrower = pages_.find(name); missing != 0;) {
    page* const lender = borrower->parent ? pages_.find(*borrower->parent) : nullptr;
    if (lender == nullptr || !is_on(*lender, medium)) return false;
    const std::vector<std::uint32_t>& lent = lender->rest;
    if (lent.empty() || lent.size() > missing) return false;
    link(*borrower, *lender);
    out.insert(out.end(), lent.rbegin(), lent.rend());
    missing -= lent.size();
    borrower = lender;
  }
  std::ranges::reverse(out);
  return true;
}

reblocker::page* reblocker::open_page(engine_hash name, const std::optional<engine_hash>& parent, const page_stretch& from,
                                      std::span<const std::uint32_t> tokens) {
  page* made = pages_.find(name);
  if (made == nullptr && pages_.size() >= max_pages_) return nullptr;
  page* const before = parent ? pages_.find(*parent) : nullptr;
  const bool continues = before != nullptr && before->home == from.home;
  const std::uint32_t borrowed = continues ? before->pending : 0;
  const std::uint32_t block_tokens = from.home->key().block_size;
  const std::uint64_t all = std::uint64_t{borrowed} + tokens.size();
  const auto pending = static_cast<std::uint32_t>(all % block_tokens);
  std::vector<std::uint32_t> rest(tokens.end() - static_cast<std::ptrdiff_t>(std::min<std::size_t>(pending, tokens.size())), tokens.end());
  if (made == nullptr) made = &pages_[name];

  made->name = name;
  made->home = from.home;
  made->parent = parent;
  made->boundary = continues ? before->boundary : parent;
  made->borrowed = borrowed;
  made->blocks = static_cast<std::uint32_t>(all / block_tokens);
  made->pending = pending;
  made->rest = std::move(rest);
  made->lacks_first = 0;
  if (made->blocks != 0) made->boundary = block_name(name, *made, made->blocks - 1);
  if (borrowed != 0) link(*made, *before);
  return made;
}

bool reblocker::is_same_page(const page& known, const std::optional<engine_hash>& parent, const page_stretch& from) {
  const std::uint64_t all = std::uint64_t{known.borrowed} + from.page_tokens;
  const std::uint32_t block_tokens = from.home->key().block_size;
  return known.home == from.home && known.parent == parent && all / block_tokens == known.blocks && all % block_tokens == known.pending;
}

bool reblocker::store_page(engine_hash name, const std::optional<engine_hash>& parent, const page_stretch& from,
                           std::span<const std::uint32_t> tokens, apply_tally& tally) {
  page* here = pages_.find(name);
  if (here != nullptr && !here->copies.empty() && !is_same_page(*here, parent, from)) {
    // A name means one page, and the newest store decides.
    const auto held = here->copies;
    for (const auto& [medium, count] : held) {
      for (std::uint32_t i = 0; i < count; ++i) (void)remove(name, medium, tally);
    }
    if (!bereft_.empty()) return false;
    here = pages_.find(name);
  }
  if (here == nullptr || here->copies.empty()) here = open_page(name, parent, from, tokens);
  if (here == nullptr) {
    ++tally.skipped;
    return true;
  }
  const bool is_new = add_copy(*here, from.medium);
  if (!is_new) ++tally.repeated;
  const media_mask medium = mask_of(from.medium);
  if (here->blocks == 0 || (!is_new && (here->lacks_first & medium) == 0)) return true;

  const std::uint32_t block_tokens = from.home->key().block_size;
  const bool has_first = collect_borrowed(name, *here, from.medium, tokens_);
  here->lacks_first = static_cast<media_mask>(has_first ? here->lacks_first & ~medium : here->lacks_first | medium);
  // Without its first block the others are stored all the same, and wait for it.
  const std::uint32_t begin = has_first ? 0 : 1;
  const std::uint32_t end = is_new ? here->blocks : 1;
  if (begin >= end) {
    ++tally.skipped;
    return true;
  }
  if (!has_first) {
    tokens_.clear();
    tokens = tokens.subspan(block_tokens - here->borrowed);
  }
  tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
  tokens_.resize(std::size_t{end - begin} * block_tokens);
  prepare_blocks(name, *here, begin, from.medium);
  blocks_->store(command_, tally);
  tally.reblocked += end - begin;
  return true;
}

void reblocker::prepare_blocks(engine_hash name, const page& in, std::uint32_t begin, medium_id medium) {
  const std::uint32_t block_tokens = in.home->key().block_size;
  locals_.clear();
  names_.clear();
  hash_blocks(tokens_, block_tokens, in.home->seed(), locals_);
  for (std::uint32_t i = 0; i < locals_.size(); ++i) names_.push_back(block_name(name, in, begin + i));
  std::optional<engine_hash> behind = in.parent;
  if (begin != 0) {
    behind = block_name(name, in, begin - 1);
  } else if (const page* const before = in.parent ? pages_.find(*in.parent) : nullptr; in.borrowed != 0 && before != nullptr) {
    behind = before->boundary;
  }
  command_ = {};
  command_.home = in.home;
  command_.medium = medium;
  command_.link = behind ? store_link::parent : store_link::root;
  if (behind) command_.parent = *behind;
  command_.names = names_;
  command_.locals = locals_;
}

bool reblocker::store_some(const page_stretch& pages, std::size_t& next, std::size_t budget, apply_tally& tally) {
  for (std::size_t spent = 0; next < pages.names.size();) {
    if (spent >= budget || !settle(budget - spent, tally)) return false;
    const std::optional<engine_hash> parent = next == 0 ? pages.parent : pages.names[next - 1];
    const engine_hash name = pages.names[next];
    if (!store_page(name, parent, pages, pages.tokens.subspan(next * pages.page_tokens, pages.page_tokens), tally)) continue;
    ++tally.reblocked_pages;
    ++next;
    spent += 1 + blocks_in(name);
  }
  return true;
}

bool reblocker::store_copy(engine_hash name, medium_id medium, apply_tally& tally) {
  page* const found = pages_.find(name);
  if (found == nullptr || found->copies.empty()) return false;
  page& here = *found;
  if (!add_copy(here, medium)) {
    ++tally.repeated;
    return true;
  }
  const bool has_first = collect_borrowed(name, here, medium, tokens_);
  if (!has_first) here.lacks_first = static_cast<media_mask>(here.lacks_first | mask_of(medium));
  names_.clear();
  for (std::uint32_t i = has_first ? 0 : 1; i < here.blocks; ++i) names_.push_back(block_name(name, here, i));
  if (!has_first && here.blocks != 0) ++tally.skipped;
  store_command command;
  command.home = here.home;
  command.medium = medium;
  command.link = store_link::by_name;
  command.names = names_;
  blocks_->store(command, tally);
  return true;
}

void reblocker::take_block(engine_hash name, medium_id medium, apply_tally& tally) {
  // It may be gone already, with another of its pages: that is no unknown removal.
  apply_tally quiet;
  blocks_->remove({&name, 1}, medium, quiet);
  quiet.unknown_removals = 0;
  tally.add(quiet);
}

bool reblocker::settle(std::size_t budget, apply_tally& tally) {
  while (!bereft_.empty()) {
    page* const each = bereft_.back().next;
    if (each == nullptr) {
      bereft_.pop_back();
      continue;
    }
    if (budget == 0) return false;
    --budget;
    const medium_id medium = bereft_.back().medium;
    bereft_.back().next = each->next;
    if (!is_on(*each, medium)) continue;
    if (each->blocks == 0) {  // it has handed on what it borrowed
      if (each->borrowers != nullptr) bereft_.push_back({each->borrowers, medium});
    } else if ((each->lacks_first & mask_of(medium)) == 0) {
      each->lacks_first = static_cast<media_mask>(each->lacks_first | mask_of(medium));
      take_block(block_name(each->name, *each, 0), medium, tally);
    }
  }
  return true;
}

bool reblocker::remove(engine_hash name, medium_id medium, apply_tally& tally) {
  page* const found = pages_.find(name);
  if (found == nullptr) return false;
  page& gone = *found;
  const auto held = std::ranges::find(gone.copies, medium, &std::pair<medium_id, std::uint32_t>::first);
  if (held == gone.copies.end()) return false;
  if (copy_counting_ && --held->second != 0) return true;
  if (gone.borrowers != nullptr) bereft_.push_back({gone.borrowers, medium});
  gone.copies.erase(held);
  for (std::uint32_t i = 0; i < gone.blocks; ++i) take_block(block_name(name, gone, i), medium, tally);
  gone.lacks_first = static_cast<media_mask>(gone.lacks_first & ~mask_of(medium));
  if (gone.copies.empty()) let_go(gone);
  return true;
}

void reblocker::link(page& borrower, page& lender) noexcept {
  if (borrower.lender != nullptr) return;
  borrower.lender = &lender;
  borrower.next = lender.borrowers;
  if (lender.borrowers != nullptr) lender.borrowers->previous = &borrower;
  lender.borrowers = &borrower;
}

void reblocker::unlink(page& borrower) {
  page* const lender = std::exchange(borrower.lender, nullptr);
  if (lender == nullptr) return;
  for (bereft& each : bereft_) {
    if (each.next == &borrower) each.next = borrower.next;
  }
  if (borrower.next != nullptr) borrower.next->previous = borrower.previous;
  (borrower.previous != nullptr ? borrower.previous->next : lender->borrowers) = borrower.next;
  borrower.previous = borrower.next = nullptr;
  if (lender->borrowers == nullptr && lender->copies.empty()) pages_.erase(lender->name);  // it was kept for its borrowers only
}

void reblocker::let_go(page& gone) {
  unlink(gone);
  if (gone.borrowers == nullptr) {
    pages_.erase(gone.name);
    return;
  }
  gone.home.reset();
  gone.rest = {};
}

bool reblocker::forget_some(media_mask which, std::span<const partition* const> only, std::size_t budget) {
  if (!forgetting_) forgetting_.emplace();
  names_.clear();
  for (; budget != 0; --budget) {
    if (!pages_.next_bucket(*forgetting_, names_)) {
      forgetting_.reset();
      return true;
    }
    for (const engine_hash name : names_) {
      page* const found = pages_.find(name);
      if (found == nullptr || found->copies.empty()) continue;
      if (!only.empty() && std::ranges::find(only, found->home.get()) == only.end()) continue;
      const auto goes = [which](const auto& copy) { return (mask_of(copy.first) & which) != 0; };
      found->copies.erase(std::remove_if(found->copies.begin(), found->copies.end(), goes), found->copies.end());
      found->lacks_first = static_cast<media_mask>(found->lacks_first & ~which);
      if (found->copies.empty()) let_go(*found);
    }
  }
  return false;
}

void reblocker::collect_homes(std::set<const partition*>& busy) const {
  name_walk at;
  std::vector<engine_hash> names;
  while (pages_.next_bucket(at, names)) {
    for (const engine_hash name : names) {
      if (const page* const each = pages_.find(name); each->home) busy.insert(each->home.get());
    }
  }
}

}  // namespace kvc::core
