#include "core/reblocker.hpp"

#include <algorithm>
#include <utility>

#include "core/block_hasher.hpp"
#include "core/copy_count.hpp"
#include "core/mixed_bits.hpp"

namespace kvc::core {

reblocker::reblocker(lane_blocks& blocks, bool copy_counting, bounds most) : blocks_(&blocks), copy_counting_(copy_counting), most_(most) {
  blocks.on_join([this](engine_hash name) { note_block(name); });
}

engine_hash reblocker::block_name(const page& in, std::uint32_t index) noexcept {
  if (in.pending == 0 && index + 1 == in.blocks) return in.name;
  // Mixed before and after: engines' names, and those of groups, may differ by multiples of a constant as well.
  return engine_hash{mixed_bits(mixed_bits(in.name.get()) + (index + std::uint64_t{1}) * golden)};
}

bool reblocker::names_in(engine_hash name, std::vector<engine_hash>& out) const {
  const page* const found = pages_.find(name);
  if (found == nullptr || !found->is_held() || found->pending != 0 || found->begins.borrowed != 0) return false;
  out.clear();
  for (std::uint32_t i = 0; i < found->blocks; ++i) out.push_back(block_name(*found, i));
  return !out.empty();
}

std::size_t reblocker::blocks_in(engine_hash name) const {
  const page* const found = pages_.find(name);
  return found == nullptr || !found->is_held() ? 0 : found->blocks;
}

bool reblocker::goes_on(const std::optional<engine_hash>& parent, engine_hash first, std::uint32_t block_tokens) const {
  // A chunk may be called by the name of its last block, which is no page for that.
  const page* const known = pages_.find(first);
  if (known != nullptr && (!known->is_held() || known->size == block_tokens)) return true;
  const page* const before = parent ? pages_.find(*parent) : nullptr;
  return before != nullptr && before->is_held() && before->pending != 0;
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
  if (copy_counting_) held->second = sum_of_copies(held->second, 1);
  return false;
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
  return settle(budget, tally);
}

bool reblocker::store_page(engine_hash name, const std::optional<engine_hash>& parent, const page_stretch& from,
                           std::span<const std::uint32_t> tokens, apply_tally& tally) {
  page* here = pages_.find(name);
  auto about = retelling::in_place;
  if (here != nullptr && here->is_held()) about = judge(*here, from, parent, tokens);
  if (about == retelling::of_another) {
    for (auto& [medium, count] : here->copies) count = 1;  // all of them go
    const auto held = here->copies;
    for (const auto& [medium, count] : held) (void)remove(name, medium, tally);
    if (!to_settle_.empty()) return false;
    here = pages_.find(name);
  }
  bool is_passed_on = true;
  std::vector<std::pair<medium_id, std::uint32_t>> told_before;
  if (here == nullptr || !here->is_held()) {
    told_before = blocks_->take_placeholders(name);
    // As a block of the registered size it may wait for what turns out to be a page.
    if (from.page_tokens == from.home->key().block_size) take_block(name, from.medium, tally);
    here = open_page(name, parent, from, tokens, tally);
    if (here == nullptr) {
      ++tally.beyond_pages;
      tally.skipped += 1 + told_before.size();
      return true;
    }
  } else {
    is_passed_on = look_again(*here, about == retelling::behind_told ? parent : here->parent, tokens, tally);
    if (was_evicted(*here)) store_anew(*here, tokens, tally);
  }
  if (!add_copy(*here, from.medium)) {
    ++tally.repeated;
    return true;
  }
  store_blocks(*here, from.medium, tokens, tally);
  if (!is_passed_on) send_on(*here, from.medium);
  store_placeholders(name, told_before, tally);
  return true;
}

void reblocker::store_placeholders(engine_hash name, std::span<const std::pair<medium_id, std::uint32_t>> copies, apply_tally& tally) {
  for (const auto& [medium, count] : copies) {
    (void)store_copy(name, medium, tally);
    auto& held = pages_.find(name)->copies;
    auto& told = std::ranges::find(held, medium, &std::pair<medium_id, std::uint32_t>::first)->second;
    if (copy_counting_) told = sum_of_copies(told, count - 1);
  }
  if (!copies.empty()) ++tally.joined;
}

void reblocker::store_blocks(page& of, medium_id medium, std::span<const std::uint32_t> tokens, apply_tally& tally) {
  if (of.blocks == 0) return;
  const bool has_first = collect_borrowed(of, medium, tokens_);
  of.lacks_first = static_cast<media_mask>(has_first ? of.lacks_first & ~mask_of(medium) : of.lacks_first | mask_of(medium));
  // Without its first block the others are stored all the same, and wait for it.
  const std::uint32_t begin = has_first ? 0 : 1;
  if (begin == of.blocks) return;
  const std::uint32_t block_tokens = of.home->key().block_size;
  std::optional<seq_hash> before = of.begins.place;
  if (!has_first) {
    before = of.first;
    tokens_.clear();
    tokens = tokens.subspan(block_tokens - of.begins.borrowed);
  }
  tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
  tokens_.resize(std::size_t{of.blocks - begin} * block_tokens);
  store_prepared(of, begin, before, medium, tally);
}

void reblocker::store_prepared(const page& of, std::uint32_t begin, std::optional<seq_hash> before, medium_id medium, apply_tally& tally) {
  locals_.clear();
  names_.clear();
  hash_blocks(tokens_, of.home->key().block_size, of.home->seed(), locals_);
  for (std::uint32_t i = 0; i < locals_.size(); ++i) names_.push_back(block_name(of, begin + i));
  const std::optional<engine_hash> behind = begin == 0 ? of.begins.behind : block_name(of, begin - 1);
  store_command command;
  command.home = of.home;
  command.medium = medium;
  command.names = names_;
  if (before && !place_of(*behind, of.home.get())) {  // nobody holds it, so its name says nothing
    rolled_.clear();
    seq_hash last = *before;
    for (const local_hash local : locals_) rolled_.push_back(last = roll(last, local, of.home->seed()));
    command.link = store_link::placed;
    command.blocks = rolled_;
  } else {
    command.link = behind ? store_link::parent : store_link::root;
    if (behind) command.parent = *behind;
    command.locals = locals_;
  }
  blocks_->store(command, tally);
  tally.reblocked += locals_.size();
}

bool reblocker::collect_borrowed(const page& of, std::optional<medium_id> medium, std::vector<std::uint32_t>& out) {
  // From the last token to the first, page by page.
  out.clear();
  std::size_t missing = of.begins.borrowed;
  for (const page* borrower = &of; missing != 0;) {
    const page* const lender = borrower->lender;
    if (lender == nullptr || (medium && !is_on(*lender, *medium)) || (lender->begins.is_guess && !of.begins.is_guess)) return false;
    const std::size_t lent = std::min<std::size_t>(lender->pending, lender->tokens.size());
    if (lent == 0 || lent > missing) return false;
    out.insert(out.end(), lender->tokens.rbegin(), lender->tokens.rbegin() + static_cast<std::ptrdiff_t>(lent));
    missing -= lent;
    borrower = lender;
  }
  std::ranges::reverse(out);
  return true;
}

bool reblocker::store_copy(engine_hash name, medium_id medium, apply_tally& tally) {
  page* const here = pages_.find(name);
  if (here == nullptr || !here->is_held()) return false;
  if (!add_copy(*here, medium)) {
    ++tally.repeated;
    return true;
  }
  if (here->keeps_tokens()) {
    store_blocks(*here, medium, here->tokens, tally);
  } else {
    names_.clear();
    for (std::uint32_t i = 0; i < here->blocks; ++i) names_.push_back(block_name(*here, i));
    store_command command;
    command.home = here->home;
    command.medium = medium;
    command.link = store_link::by_name;
    command.names = names_;
    blocks_->store(command, tally);
  }
  send_on(*here, medium);
  return true;
}

void reblocker::take_block(engine_hash name, medium_id medium, apply_tally& tally) {
  // It may be gone already, with another of its pages: that is no unknown removal.
  apply_tally quiet;
  blocks_->remove({&name, 1}, medium, quiet);
  quiet.unknown_removals = 0;
  tally.add(quiet);
}

void reblocker::take_blocks(page& of, medium_id medium, apply_tally& tally) {
  const bool has_first = (of.lacks_first & mask_of(medium)) == 0;
  for (std::uint32_t i = has_first ? 0 : 1; i < of.blocks; ++i) take_block(block_name(of, i), medium, tally);
  of.lacks_first = static_cast<media_mask>(of.lacks_first & ~mask_of(medium));
}

void reblocker::store_anew(page& of, std::span<const std::uint32_t> tokens, apply_tally& tally) {
  for (const auto& [medium, count] : of.copies) {
    take_blocks(of, medium, tally);
    store_blocks(of, medium, tokens, tally);
  }
}

bool reblocker::check_first(page& of, medium_id medium, apply_tally& tally) {
  if (of.blocks == 0) return false;
  const media_mask here = mask_of(medium);
  const bool stands = (of.lacks_first & here) == 0;
  if (collect_borrowed(of, medium, tokens_) == stands) return true;
  of.lacks_first = static_cast<media_mask>(of.lacks_first ^ here);
  if (stands) {
    take_block(block_name(of, 0), medium, tally);
    return true;
  }
  tokens_.insert(tokens_.end(), of.tokens.begin(),
                 of.tokens.begin() + static_cast<std::ptrdiff_t>(of.home->key().block_size - tokens_.size()));
  store_prepared(of, 0, of.begins.place, medium, tally);
  return true;
}

bool reblocker::was_evicted(const page& which) {
  if (which.blocks == 0 || which.begins.is_guess || which.lacks_first != 0) return false;
  return !blocks_->meaning_of(block_name(which, 0)) || !blocks_->meaning_of(block_name(which, which.blocks - 1));
}

bool reblocker::has_gone(const page& which) {
  const bool has_any = which.blocks > (which.lacks_first == 0 ? 0U : 1U);
  if (!which.is_held() || !has_any || which.borrowers != nullptr) return false;
  const auto is_there = [&](std::uint32_t index) {
    const engine_hash name = block_name(which, index);
    return blocks_->meaning_of(name) || blocks_->is_waiting(name);
  };
  return !is_there(0) && !is_there(which.blocks - 1) && (which.lacks_first == 0 || !is_there(1));
}

void reblocker::make_room(const std::optional<engine_hash>& kept, apply_tally& tally) {
  constexpr std::size_t looked_at = 16;  // buckets for each page that comes: enough once one in sixteen has gone
  for (std::size_t i = 0; i < looked_at; ++i) {
    if (!pages_.next_bucket(making_room_, names_)) {
      making_room_ = {};
      continue;
    }
    for (const engine_hash name : names_) {
      page* const found = pages_.find(name);
      if (found == nullptr || name == kept || !has_gone(*found)) continue;
      for (const auto& [medium, count] : found->copies) take_blocks(*found, medium, tally);
      found->copies.clear();
      let_go(*found);
    }
  }
}

bool reblocker::remove(engine_hash name, medium_id medium, apply_tally& tally) {
  page* const gone = pages_.find(name);
  if (gone == nullptr) return false;
  const auto held = std::ranges::find(gone->copies, medium, &std::pair<medium_id, std::uint32_t>::first);
  if (held == gone->copies.end()) return false;
  if (copy_counting_ && --held->second != 0) return true;
  gone->copies.erase(held);
  take_blocks(*gone, medium, tally);
  send_on(*gone, medium);
  if (!gone->is_held()) let_go(*gone);
  return true;
}

bool reblocker::forget_some(media_mask which, std::span<const partition* const> only, std::size_t budget) {
  if (!forgetting_) forgetting_.emplace();
  for (; budget != 0; --budget) {
    if (!pages_.next_bucket(*forgetting_, names_)) {
      forgetting_.reset();
      return true;
    }
    for (const engine_hash name : names_) {
      page* const found = pages_.find(name);
      if (found == nullptr || !found->is_held()) continue;
      if (!only.empty() && std::ranges::find(only, found->home.get()) == only.end()) continue;
      const auto goes = [which](const auto& copy) { return (mask_of(copy.first) & which) != 0; };
      found->copies.erase(std::remove_if(found->copies.begin(), found->copies.end(), goes), found->copies.end());
      found->lacks_first = static_cast<media_mask>(found->lacks_first & ~which);
      if (!found->is_held()) let_go(*found);
    }
  }
  if (!pages_.empty()) return false;
  forgetting_.reset();  // who sees that no page is left does not call again
  return true;
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
