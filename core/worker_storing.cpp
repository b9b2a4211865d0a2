// How worker_applier stores what an event brings: at once, or in parts where it is much.
#include <algorithm>
#include <utility>

#include "core/block_hasher.hpp"
#include "core/recipe_watch.hpp"
#include "core/worker_applier.hpp"

namespace kvc::core {
namespace {

bool is_behind_unnamed(const stored_event& stored) {
  return stored.base && stored.base->get() != 0 && !stored.parent;
}

/// Blocks before the first that has extra keys: whose part a key list belongs to is lost when blocks are taken apart.
std::size_t blocks_without_keys(const stored_event& stored) {
  for (std::size_t i = 0; i < stored.extra_keys.size() && i < stored.hashes.size(); ++i) {
    if (!stored.extra_keys[i].empty()) return i;
  }
  return stored.hashes.size();
}

}  // namespace

bool worker_applier::store_some(const stored_event& stored, std::size_t& next, apply_tally& tally) {
  const event_scope& scope = stored.scope;
  const bool is_standard = is_by_standard(stored);
  if (pool_ && !is_standard && pool_applier::is_meant(stored) && !uncounted_.covers(scope)) return store_pooled(stored, next, tally);
  if (next == 0) {
    auto command = begin_store(stored, tally);
    if (!command) return true;
    if (command->names.size() <= names_at_once) {
      blocks_.store(*command, tally);
      return true;
    }
    storing_ = *std::move(command);
  }
  const std::size_t count = std::min(storing_.names.size() - next, names_at_once);
  const bool is_chain = !storing_.locals.empty();
  store_command part = storing_;
  part.names = storing_.names.subspan(next, count);
  if (is_chain) {
    part.locals = storing_.locals.subspan(next, count);
    if (next != 0) {
      part.link = store_link::parent;
      part.parent = storing_.names[next - 1];
    }
  }
  const std::uint64_t skipped = tally.skipped;
  blocks_.store(part, tally);
  next += count;
  if (is_chain && tally.skipped != skipped) {  // there is no room for the rest either
    tally.skipped += storing_.names.size() - next;
    next = storing_.names.size();
  }
  if (next != storing_.names.size()) return false;
  storing_ = {};
  return true;
}

bool worker_applier::is_by_standard(const stored_event& stored) const {
  return stored.standard_hashes || (is_behind_unnamed(stored) && speaks_standard());
}

bool worker_applier::store_pooled(const stored_event& stored, std::size_t& next, apply_tally& tally) {
  const std::size_t count = std::min(stored.hashes.size() - next, names_at_once);
  found_no_room_ = false;
  pool_->store(stored, next, count, stored.scope.medium.value_or(registration_.medium), tally);
  if (found_no_room_) tally.beyond_partitions += count;
  next += count;
  return next == stored.hashes.size();
}

std::optional<store_command> worker_applier::begin_store(const stored_event& stored, apply_tally& tally) {
  const event_scope& scope = stored.scope;
  const medium_id medium = scope.medium.value_or(registration_.medium);
  if (uncounted_.covers(scope)) {
    uncounted_.store(stored.hashes, scope.group, medium);
    tally.uncounted += stored.hashes.size();
    return std::nullopt;
  }
  const bool is_standard = is_by_standard(stored);
  found_no_room_ = false;
  std::optional<store_command> command(std::in_place);
  command->home = home_of(scope);
  command->medium = medium;
  if (!command->home || (is_behind_unnamed(stored) && !is_standard)) {
    tally.skipped += stored.hashes.size();
    if (found_no_room_) tally.beyond_partitions += stored.hashes.size();
    return std::nullopt;
  }
  remember_medium(medium);
  command->names = names_in_group(stored.hashes, scope);
  if (stored.parent) {
    command->parent = in_group(*stored.parent, scope);
    command->link = store_link::parent;
  }
  const std::uint32_t block_tokens = is_of_other_size(scope) ? scope.block_size : command->home->key().block_size;
  if (is_standard) {
    if (limits_.recipe && stored.has_tokens) check_standard(stored, *command->home);
    command->link = store_link::standard;
    return command;
  }
  // Masked blocks are left out of the names but not of the tokens: then only the names can be trusted (kv-events.md section 10, case 16).
  if (stored.tokens.size() != stored.hashes.size() * std::uint64_t{block_tokens}) return by_name(*std::move(command), tally);
  if (is_of_other_size(scope)) {
    store_pages(stored, *command, tally);
    return std::nullopt;
  }
  locals_.clear();
  hash_blocks(stored.tokens, block_tokens, command->home->seed(), locals_, stored.extra_keys);
  command->locals = locals_;
  // Other groups have names, other partitions contents of their own, which must not be taken for contradictions.
  if (limits_.recipe && scope.group == 0 && command->home == home_) limits_.recipe->note(locals_, command->names, !stored.parent);
  return command;
}

/// Whoever names blocks by the standard hash and sends the tokens as well can be held to it, by the first block of each event.
void worker_applier::check_standard(const stored_event& stored, const partition& home) {
  const std::uint32_t block_tokens = home.key().block_size;
  const bool is_root = !stored.parent && (!stored.base || stored.base->get() == 0);
  if (stored.hashes.empty() || stored.tokens.size() < block_tokens || (!stored.parent && !is_root)) return;
  const std::string_view keys = stored.extra_keys.empty() ? std::string_view() : std::string_view(stored.extra_keys.front());
  const local_hash local = hash_block(std::span(stored.tokens).first(block_tokens), home.seed(), keys);
  const seq_hash right = is_root ? first_in_sequence(local) : roll(seq_hash{stored.parent->get()}, local, home.seed());
  limits_.recipe->note_check(right.get() == stored.hashes.front().get());
}

void worker_applier::store_pages(const stored_event& stored, const store_command& command, apply_tally& tally) {
  const std::size_t usable = blocks_without_keys(stored);
  tally.skipped += stored.hashes.size() - usable;
  page_stretch pages;
  pages.home = command.home;
  pages.medium = command.medium;
  if (command.link == store_link::parent) pages.parent = command.parent;
  pages.names = command.names.first(usable);
  pages.page_tokens = stored.scope.block_size;
  pages.tokens = std::span(stored.tokens).first(usable * pages.page_tokens);
  pages_.store(pages, tally);
  name_board& board = *command.home->names();
  if (pool_ || !board.is_in_use()) return;
  for (const engine_hash name : pages.names) {
    if (board.is_watched(name)) explain(name, board);  // all of it: the blocks themselves have told of the last one only
  }
}

store_command worker_applier::by_name(store_command command, apply_tally& tally) {
  command.link = store_link::by_name;
  if (pages_.pages() != 0) {
    unpaged_.clear();
    for (const engine_hash name : command.names) {
      if (!pages_.store_copy(name, command.medium, tally)) unpaged_.push_back(name);
    }
    command.names = unpaged_;
  }
  return command;
}

}  // namespace kvc::core
