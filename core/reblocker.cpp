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
  const auto found = pages_.find(name);
  if (found == pages_.end() || found->second.pending != 0 || found->second.borrowed != 0) return false;
  out.clear();
  for (std::uint32_t i = 0; i < found->second.blocks; ++i) out.push_back(block_name(name, found->second, i));
  return !out.empty();
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
  std::optional<engine_hash> at = of.parent;
  for (engine_hash borrower = name; missing != 0; borrower = *std::exchange(at, pages_.at(*at).parent)) {
    const auto lender = at ? pages_.find(*at) : pages_.end();
    if (lender == pages_.end() || !is_on(lender->second, medium)) return false;
    const std::vector<std::uint32_t>& lent = lender->second.rest;
    if (lent.empty() || lent.size() > missing) return false;
    lender->second.children.insert(borrower);
    out.insert(out.end(), lent.rbegin(), lent.rend());
    missing -= lent.size();
  }
  std::ranges::reverse(out);
  return true;
}

reblocker::page* reblocker::open_page(engine_hash name, const std::optional<engine_hash>& parent, const page_stretch& from,
                                      std::span<const std::uint32_t> tokens) {
  if (pages_.size() >= max_pages_) return nullptr;
  const std::uint32_t block_tokens = from.home->key().block_size;
  page made;
  made.home = from.home;
  made.parent = parent;
  made.boundary = parent;
  if (const auto before = parent ? pages_.find(*parent) : pages_.end(); before != pages_.end() && before->second.home == from.home) {
    made.boundary = before->second.boundary;
    made.borrowed = before->second.pending;
    if (made.borrowed != 0) before->second.children.insert(name);
  }
  const std::uint64_t all = std::uint64_t{made.borrowed} + tokens.size();
  made.blocks = static_cast<std::uint32_t>(all / block_tokens);
  made.pending = static_cast<std::uint32_t>(all % block_tokens);
  if (made.blocks != 0) made.boundary = block_name(name, made, made.blocks - 1);
  const std::size_t own = std::min<std::size_t>(made.pending, tokens.size());
  made.rest.assign(tokens.end() - static_cast<std::ptrdiff_t>(own), tokens.end());
  return &pages_.emplace(name, std::move(made)).first->second;
}

bool reblocker::is_same_page(const page& known, const std::optional<engine_hash>& parent, const page_stretch& from) {
  const std::uint64_t all = std::uint64_t{known.borrowed} + from.page_tokens;
  const std::uint32_t block_tokens = from.home->key().block_size;
  return known.home == from.home && known.parent == parent && all / block_tokens == known.blocks && all % block_tokens == known.pending;
}

void reblocker::store_page(engine_hash name, const std::optional<engine_hash>& parent, const page_stretch& from,
                           std::span<const std::uint32_t> tokens, apply_tally& tally) {
  const auto known = pages_.find(name);
  if (known != pages_.end() && !is_same_page(known->second, parent, from)) {  // a name means one page, and the newest store decides
    const auto held = known->second.copies;
    for (const auto& [medium, count] : held) {
      for (std::uint32_t i = 0; i < count; ++i) (void)remove(name, medium, tally);
    }
  }
  const auto found = pages_.find(name);
  page* const here = found != pages_.end() ? &found->second : open_page(name, parent, from, tokens);
  if (here == nullptr) {
    ++tally.skipped;
    return;
  }
  const bool is_new = add_copy(*here, from.medium);
  if (!is_new) ++tally.repeated;
  const media_mask medium = mask_of(from.medium);
  if (here->blocks == 0 || (!is_new && (here->lacks_first & medium) == 0)) return;

  const std::uint32_t block_tokens = from.home->key().block_size;
  const bool has_first = collect_borrowed(name, *here, from.medium, tokens_);
  here->lacks_first = static_cast<media_mask>(has_first ? here->lacks_first & ~medium : here->lacks_first | medium);
  // Without its first block the others are stored all the same, and wait for it.
  const std::uint32_t begin = has_first ? 0 : 1;
  const std::uint32_t end = is_new ? here->blocks : 1;
  if (begin >= end) {
    ++tally.skipped;
    return;
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
  } else if (const auto before = in.parent ? pages_.find(*in.parent) : pages_.end(); in.borrowed != 0 && before != pages_.end()) {
    behind = before->second.boundary;
  }
  command_ = {};
  command_.home = in.home;
  command_.medium = medium;
  command_.link = behind ? store_link::parent : store_link::root;
  if (behind) command_.parent = *behind;
  command_.names = names_;
  command_.locals = locals_;
}

void reblocker::store(const page_stretch& pages, apply_tally& tally) {
  tally.reblocked_pages += pages.names.size();
  std::optional<engine_hash> parent = pages.parent;
  for (std::size_t i = 0; i < pages.names.size(); ++i) {
    store_page(pages.names[i], parent, pages, pages.tokens.subspan(i * pages.page_tokens, pages.page_tokens), tally);
    parent = pages.names[i];
  }
}

bool reblocker::store_copy(engine_hash name, medium_id medium, apply_tally& tally) {
  const auto found = pages_.find(name);
  if (found == pages_.end()) return false;
  page& here = found->second;
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

void reblocker::take_first_blocks_behind(engine_hash name, medium_id medium, apply_tally& tally) {
  std::vector<engine_hash> behind{name};
  while (!behind.empty()) {
    const page& lender = pages_.at(behind.back());
    behind.pop_back();
    for (const engine_hash child : lender.children) {
      const auto found = pages_.find(child);
      if (found == pages_.end() || !is_on(found->second, medium)) continue;
      page& borrower = found->second;
      if (borrower.blocks == 0) {
        behind.push_back(child);
      } else if ((borrower.lacks_first & mask_of(medium)) == 0) {
        borrower.lacks_first = static_cast<media_mask>(borrower.lacks_first | mask_of(medium));
        take_block(block_name(child, borrower, 0), medium, tally);
      }
    }
  }
}

bool reblocker::remove(engine_hash name, medium_id medium, apply_tally& tally) {
  const auto found = pages_.find(name);
  if (found == pages_.end()) return false;
  page& gone = found->second;
  const auto held = std::ranges::find(gone.copies, medium, &std::pair<medium_id, std::uint32_t>::first);
  if (held == gone.copies.end()) return false;
  if (copy_counting_ && --held->second != 0) return true;
  gone.copies.erase(held);
  for (std::uint32_t i = 0; i < gone.blocks; ++i) take_block(block_name(name, gone, i), medium, tally);
  take_first_blocks_behind(name, medium, tally);
  gone.lacks_first = static_cast<media_mask>(gone.lacks_first & ~mask_of(medium));
  if (gone.copies.empty()) erase(name);
  return true;
}

void reblocker::erase(engine_hash name) {
  const auto found = pages_.find(name);
  if (found->second.parent) {
    if (const auto before = pages_.find(*found->second.parent); before != pages_.end()) before->second.children.erase(name);
  }
  pages_.erase(found);
}

void reblocker::forget(media_mask which, std::span<const partition* const> only) {
  std::vector<engine_hash> empty;
  for (auto& [name, each] : pages_) {
    if (!only.empty() && std::ranges::find(only, each.home.get()) == only.end()) continue;
    const auto goes = [which](const auto& copy) { return (mask_of(copy.first) & which) != 0; };
    const auto rest = std::remove_if(each.copies.begin(), each.copies.end(), goes);
    each.copies.erase(rest, each.copies.end());
    each.lacks_first = static_cast<media_mask>(each.lacks_first & ~which);
    if (each.copies.empty()) empty.push_back(name);
  }
  for (const engine_hash name : empty) erase(name);
}

void reblocker::collect_homes(std::set<const partition*>& busy) const {
  for (const auto& [name, each] : pages_) busy.insert(each.home.get());
}

}  // namespace kvc::core
