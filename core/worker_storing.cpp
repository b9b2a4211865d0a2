// How worker_applier stores what an event brings: at once, or in parts where it is much.
#include <algorithm>
#include <cassert>
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
  if (paging_.home) return store_pages(next, tally);
  if (next == 0) {
    auto command = begin_store(stored, tally);
    if (paging_.home) return store_pages(next, tally);
    if (!command) return true;
    const bool may_concern_pages = command->link == store_link::by_name ? pages_.pages() != 0 : pages_.is_short_of_parents();
    std::size_t joins = names_at_once;
    if (command->names.size() <= names_at_once && !may_concern_pages) {
      next = blocks_.store_some(*command, joins, tally).names;
      if (next == command->names.size() && blocks_.join_some(joins, tally)) return true;
    }
    storing_ = *std::move(command);
    if (next != 0) return false;
  }
  std::size_t joins = names_at_once;
  if (!blocks_.join_some(joins, tally) || !pages_.settle(names_at_once, tally)) return false;
  const bool is_chain = !storing_.locals.empty();
  const bool is_by_name = storing_.link == store_link::by_name;
  const std::span<const engine_hash> rest = storing_.names.subspan(next);
  const std::size_t count = is_by_name ? part_of(rest) : std::min(rest.size(), names_at_once);
  store_command part = storing_;
  part.names = rest.first(count);
  if (is_by_name) {
    part.names = unpaged([&](engine_hash name) { return pages_.store_copy(name, part.medium, tally); }, part.names);
  } else if (is_chain) {
    part.locals = storing_.locals.subspan(next, count);
    if (next != 0) {
      part.link = store_link::parent;
      part.parent = storing_.names[next - 1];
    }
  }
  if (is_by_name) {
    blocks_.store(part, tally);
    next += count;
  } else if (count != 0) {
    const auto done = blocks_.store_some(part, joins, tally);
    pages_.note_blocks(part.names.first(done.names));
    next += done.names;
    if (!done.has_room) {  // nor is there any for the rest
      tally.skipped += storing_.names.size() - next;
      next = storing_.names.size();
    }
  }
  if (!blocks_.join_some(joins, tally) || next != storing_.names.size() || !pages_.settle(names_at_once, tally)) return false;
  storing_ = {};
  return true;
}

std::optional<hash_recipe> worker_applier::recipe() const {
  const std::uint32_t block_size = registration_.partition.block_size;
  if (pool_ || speaks_standard() || pages_.pages() != 0 || block_size == 0) return std::nullopt;
  return hash_recipe{block_size, home_->seed()};
}

bool worker_applier::is_by_standard(const stored_event& stored) const {
  return stored.standard_hashes || (is_behind_unnamed(stored) && is_by_standard(stored.scope));
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
  if (is_told_by_device(stored, *command)) {
    command->link = store_link::by_name;
    return command;
  }
  if (!stored.locals.empty()) {
    assert(stored.locals.size() == stored.hashes.size() && !is_of_other_size(scope) && command->home->seed() == home_->seed());
    command->locals = stored.locals;
    note_recipe(*command, stored);
    return command;
  }
  // Masked blocks are left out of the names but not of the tokens: then only the names can be trusted (kv-events.md section 10, case 16).
  if (stored.tokens.size() != stored.hashes.size() * std::uint64_t{block_tokens}) {
    command->link = scope.names_span_groups ? store_link::standard : store_link::by_name;  // as without tokens
    return command;
  }
  const bool goes_on_a_page =
      pages_.pages() != 0 && !command->names.empty() &&
      pages_.goes_on(stored.parent ? std::optional(command->parent) : std::nullopt, command->names.front(), block_tokens);
  if (is_of_other_size(scope) || goes_on_a_page) {
    begin_pages(stored, *command, block_tokens, tally);
    return std::nullopt;
  }
  locals_.clear();
  hash_blocks(stored.tokens, block_tokens, command->home->seed(), locals_, stored.extra_keys);
  command->locals = locals_;
  note_recipe(*command, stored);
  return command;
}

/// Another tier's telling of blocks that the engine itself holds is about those: connectors tell one block at a time, without its parent or
/// behind whichever they have stored last. (Source: kv-events.md section 2, MooncakeStoreConnector.) Only vLLM is known for it; names that
/// are made of a page's tokens alone, as SGLang's were, may mean several blocks.
bool worker_applier::is_told_by_device(const stored_event& stored, const store_command& command) {
  return registration_.type == publisher_type::vllm && command.medium != registration_.medium && !is_of_other_size(stored.scope) &&
         !command.names.empty() && command.names.size() <= names_at_once &&
         blocks_.are_all_on(command.names, *command.home, registration_.medium);
}

/// Other groups have names, other partitions contents of their own, which must not be taken for contradictions.
void worker_applier::note_recipe(const store_command& command, const stored_event& stored) {
  if (!limits_.recipe || stored.scope.group != 0 || command.home != home_) return;
  limits_.recipe->note(command.locals, command.names, !stored.parent);
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

void worker_applier::begin_pages(const stored_event& stored, const store_command& command, std::uint32_t page_tokens, apply_tally& tally) {
  const std::size_t usable = blocks_without_keys(stored);
  tally.skipped += stored.hashes.size() - usable;
  paging_ = {};
  paging_.home = command.home;
  paging_.medium = command.medium;
  if (command.link == store_link::parent) paging_.parent = command.parent;
  paging_.names = command.names.first(usable);
  paging_.page_tokens = page_tokens;
  paging_.tokens = std::span(stored.tokens).first(usable * paging_.page_tokens);
}

bool worker_applier::store_pages(std::size_t& next, apply_tally& tally) {
  const std::size_t first = next;
  const bool is_all = pages_.store_some(paging_, next, names_at_once, tally);
  name_board& board = *paging_.home->names();
  if (!pool_ && board.is_in_use()) {
    for (const engine_hash name : paging_.names.subspan(first, next - first)) {
      if (board.is_watched(name, paging_.home->adapter()))
        explain(name, board);  // all of it: the blocks themselves have told of the last one only
    }
  }
  if (is_all) paging_ = {};
  return is_all;
}

std::size_t worker_applier::part_of(std::span<const engine_hash> names) const {
  if (pages_.pages() == 0) return std::min(names.size(), names_at_once);
  std::size_t count = 0;
  for (std::size_t blocks = 0; count < names.size() && blocks < names_at_once; ++count) {
    blocks += std::max(std::size_t{1}, pages_.blocks_in(names[count]));
  }
  return count;
}

}  // namespace kvc::core
