#include "core/worker_applier.hpp"

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <utility>

#include "core/mixed_bits.hpp"

namespace kvc::core {
namespace {

/// Events without room for their partition that pass before it is looked for again, at most.
constexpr std::uint32_t longest_room_pause = 1'024;

bool names_dimensions(const event_scope& scope) {
  return scope.tenant || scope.model || scope.lora || scope.salt || scope.block_size != 0;
}

}  // namespace

worker_applier::worker_applier(const registration& from, const member& who, catalog& partitions, const applier_options& limits)
    : registration_(from),
      member_(who),
      catalog_(&partitions),
      limits_(limits),
      blocks_({.worker = who.id,
               .copy_counting = from.copy_counting,
               .max_orphans = limits.max_orphans,
               .lane = limits.lane,
               .orphans = limits.orphans,
               .explains_names = from.worker.kind == publisher_class::engine}),
      pages_(blocks_, from.copy_counting, limits.pages),
      uncounted_(from.copy_counting) {
  auto joined = partitions.join(from.partition, from.hash_seed, who);
  if (!joined) throw std::invalid_argument(joined.error().message());
  home_ = *std::move(joined);
  if (from.worker.kind != publisher_class::pool) return;
  pool_applier::options with;
  with.shards = from.shards;
  with.settle = limits.pool_settle;
  with.max_waiting = limits.max_orphans;
  with.mixed = limits.pool_mixed;
  with.wake = limits.pool_wake;
  with.copy_counting = from.copy_counting;
  pool_ = std::make_unique<pool_applier>(with, blocks_, *member_.media_seen, [this](const event_scope& scope) { return home_of(scope); });
}

void worker_applier::become(std::shared_ptr<const worker_key> key) {
  registration_.worker = *key;
  member_.key = std::move(key);
  catalog_->rename(member_.id, member_.key);
}

engine_hash worker_applier::in_group(engine_hash name, const event_scope& scope) const {
  if (scope.group == 0 || scope.names_span_groups || speaks_standard()) return name;
  // (kv-events.md section 10, case 15.)
  return engine_hash{name.get() ^ (scope.group * golden)};
}

std::span<const engine_hash> worker_applier::names_in_group(std::span<const engine_hash> names, const event_scope& scope) {
  if (scope.group == 0) return names;
  names_.clear();
  for (const engine_hash name : names) names_.push_back(in_group(name, scope));
  return names_;
}

bool worker_applier::is_of_other_size(const event_scope& scope) const {
  return scope.block_size != 0 && scope.block_size != registration_.partition.block_size && !is_by_standard(scope);
}

/// The partition that a scope means: what it leaves out is as registered.
partition_key worker_applier::key_of(const event_scope& scope) const {
  partition_key key = registration_.partition;
  if (scope.block_size != 0 && !is_of_other_size(scope)) key.block_size = scope.block_size;
  if (scope.lora) key.lora = *scope.lora;
  if (scope.tenant) key.tenant = *scope.tenant;
  if (scope.model) key.model = *scope.model;
  if (scope.salt) key.salt = *scope.salt;
  return key;
}

lane_blocks::removal_scope worker_applier::removal_scope_of(const event_scope& scope) const {
  // A publisher may leave the adapter and the salt out of its removals only: then the newest such block is the best guess. Names that are
  // not the standard's mean one block, whatever is said of its partition.
  const bool is_explicit = (scope.lora || scope.salt) && is_by_standard(scope);
  lane_blocks::removal_scope from{.home = nullptr, .is_explicit = is_explicit, .any_size = is_of_other_size(scope)};
  if (names_dimensions(scope)) from.named = &scope;
  if (others_.empty() && from.named == nullptr) return from;
  if (is_in_scope(home_->key(), scope)) {
    from.home = home_.get();
  } else if (const auto known = others_.find(key_of(scope)); known != others_.end()) {
    from.home = known->second.get();
  }
  return from;
}

std::shared_ptr<partition> worker_applier::home_of(const event_scope& scope) {
  if (is_in_scope(home_->key(), scope)) return home_;
  partition_key key = key_of(scope);
  if (key == home_->key()) return home_;
  if (const auto known = others_.find(key); known != others_.end()) return known->second;
  if (others_.size() >= limits_.max_partitions && !make_room()) {
    found_no_room_ = true;
    return nullptr;
  }
  auto joined = catalog_->join(key, registration_.hash_seed, member_);
  if (!joined) return nullptr;  // another publisher opened it under another seed
  ++membership_changes_;
  others_.emplace(std::move(key), *joined);
  return *joined;
}

bool worker_applier::make_room() {
  if (room_wait_ > 0) {
    --room_wait_;
    return false;
  }
  std::set<const partition*> busy{home_.get()};
  blocks_.collect_homes(busy);
  pages_.collect_homes(busy);
  if (pool_) pool_->collect_homes(busy);  // its objects may wait in any of them
  const std::size_t before = others_.size();
  keep_homes(busy);
  // To look costs as much as there is to look at: where it makes little room, it is done the more rarely.
  const bool has_much_room = (before - others_.size()) * 8 >= before;
  room_pause_ = has_much_room ? 0 : std::clamp(room_pause_ * 2, 1U, longest_room_pause);
  room_wait_ = room_pause_;
  return others_.size() != before;
}

void worker_applier::keep_homes(const std::set<const partition*>& busy) {
  blocks_.keep_homes(busy);
  if (pool_) pool_->keep_homes(busy);
  const std::size_t gone = std::erase_if(others_, [&busy](const auto& each) { return !busy.contains(each.second.get()); });
  if (gone == 0) return;
  membership_changes_ += gone;
  catalog_->leave(member_.id, [this](const partition_key& key) { return key != home_->key() && !others_.contains(key); });
}

void worker_applier::remember_medium(medium_id medium) {
  const media_mask mask = mask_of(medium);
  if ((member_.media_seen->load(std::memory_order_relaxed) & mask) == 0) member_.media_seen->fetch_or(mask, std::memory_order_relaxed);
}

bool worker_applier::remove_some(const removed_event& removed, std::size_t& next, apply_tally& tally) {
  const event_scope& scope = removed.scope;
  media_mask media = removed.all_media ? member_.media_seen->load(std::memory_order_relaxed) : media_mask{0};
  media = static_cast<media_mask>(media | mask_of(scope.medium.value_or(registration_.medium)));
  if (!pages_.settle(names_at_once, tally)) return false;
  std::span<const engine_hash> hashes = std::span(removed.hashes).subspan(next);
  hashes = hashes.first(part_of(names_in_group(hashes.first(std::min(hashes.size(), names_at_once)), scope)));
  next += hashes.size();
  const bool is_all = next == removed.hashes.size();
  const std::span<const engine_hash> counted = uncounted_.remove(hashes, scope.group, media);
  if (!removed.all_media) hashes = counted;  // else what is tracked on one medium may count on another
  apply_tally each_medium;
  if (pool_) {
    pool_->remove(removed, hashes, removed.all_media ? all_media : media, left_, tally);
    if (left_.empty()) return is_all;
  }
  const lane_blocks::removal_scope from = removal_scope_of(scope);
  if (pool_) {
    // What is left may be of blocks that no object keeps (see store_some), but never what an object keeps that was not meant. With a key,
    // only names by the standard can be of such blocks.
    const bool may_be_plain = scope.object_key.empty() || scope.names_span_groups || speaks_standard();
    const partition* const only = from.is_explicit ? from.home : nullptr;
    each_medium.unknown_removals +=
        std::erase_if(left_, [&](engine_hash name) { return !may_be_plain || pool_->keeps(in_group(name, scope), media, only); });
    hashes = left_;
  }
  for (unsigned rest = media; rest != 0; rest &= rest - 1) {
    const auto medium = static_cast<medium_id>(std::countr_zero(rest));
    remove_blocks(names_in_group(hashes, scope), medium, from, each_medium);
  }
  // Where every medium is meant, not to be on one of them is no surprise, nor that a group has had more names than are tracked.
  if (removed.all_media || uncounted_.knows(scope.group)) each_medium.unknown_removals = 0;
  tally.add(each_medium);
  return pages_.settle(names_at_once, tally) && is_all;
}

void worker_applier::remove_blocks(std::span<const engine_hash> names, medium_id medium, const lane_blocks::removal_scope& from,
                                   apply_tally& tally) {
  blocks_.remove(unpaged([&](engine_hash name) { return pages_.remove(name, medium, tally); }, names), medium, from, tally);
}

void worker_applier::move(const object_event& moved, apply_tally& tally) {
  if (!pool_) {
    ++tally.unplaced;
    return;
  }
  found_no_room_ = false;
  pool_->apply(moved, moved.scope.medium.value_or(registration_.medium), tally);
  if (found_no_room_ && moved.what == object_event::change::stored) ++tally.beyond_partitions;
}

void worker_applier::answer(const name_question& asked) {
  for (const engine_hash name : asked.names) explain(name, *asked.board);
}

void worker_applier::explain(engine_hash name, name_board& to) {
  std::vector<lane_blocks::meaning> meanings;
  blocks_.meanings_of(name, meanings);
  for (const lane_blocks::meaning& each : meanings) {
    if (each.home->names().get() == &to) explain(name, each, to);
  }
}

void worker_applier::explain(engine_hash name, const lane_blocks::meaning& means, name_board& to) {
  name_meaning told{name_meaning::state::known, means.home->adapter(), means.block};
  // Not `unpaged_`, which an event may be half through.
  if (std::vector<engine_hash> names; pages_.pages() != 0 && pages_.names_in(name, names) && names.size() > 1) {
    auto before = std::make_shared<std::vector<seq_hash>>();
    for (std::size_t i = 0; i + 1 < names.size(); ++i) {
      const auto inner = blocks_.meaning_of(names[i]);
      if (inner && inner->home == means.home) before->push_back(inner->block);
    }
    if (before->size() + 1 == names.size()) told.before = std::move(before);
  }
  to.tell(name, told);
}

media_mask worker_applier::media_cleared_by(const cleared_event& cleared) const {
  if (cleared.scope.medium) return mask_of(*cleared.scope.medium);
  const bool is_everything = is_by_standard(cleared.scope) || registration_.worker.kind == publisher_class::pool;
  return is_everything ? all_media : mask_of(registration_.medium);
}

event_scope worker_applier::limits_of(const cleared_event& cleared) const {
  const bool is_store = registration_.type == publisher_type::mooncake || (pool_ && registration_.type != publisher_type::standard);
  if (!is_store) return cleared.scope;
  event_scope limits;
  limits.tenant = cleared.scope.tenant;
  return limits;
}

bool worker_applier::clears_everything(const cleared_event& cleared) const {
  // Its own medium is used by every publisher, and what is lost may be all that was ever said of it.
  const media_mask seen = member_.media_seen->load(std::memory_order_relaxed);
  const auto ever = static_cast<media_mask>(seen | mask_of(registration_.medium));
  return !names_dimensions(limits_of(cleared)) && (ever & ~media_cleared_by(cleared)) == 0;
}

bool worker_applier::clear_some(const cleared_event& cleared, std::size_t budget, apply_tally& tally) {
  const media_mask which = media_cleared_by(cleared);
  // The standard scopes a clear by the dimensions it names; an engine's clear names none and means all of them.
  const event_scope scope = limits_of(cleared);
  std::vector<const partition*> only;
  if (names_dimensions(scope)) {
    if (is_in_scope(home_->key(), scope)) only.push_back(home_.get());
    for (const auto& [key, home] : others_) {
      if (is_in_scope(key, scope)) only.push_back(home.get());
    }
    if (only.empty()) return true;
  }
  // These go first: nothing else may be done in the middle of the blocks' part.
  if (!are_pages_cleared_ && !(are_pages_cleared_ = pages_.forget_some(which, only, budget))) return false;
  if (!clear_pool(which, only, budget, tally) || !blocks_.clear_some(which, only, budget, tally)) return false;
  are_pages_cleared_ = is_pool_cleared_ = false;
  if (only.empty()) uncounted_.clear(which);
  return true;
}

bool worker_applier::clear_pool(media_mask which, std::span<const partition* const> only, std::size_t budget, apply_tally& tally) {
  if (!pool_ || is_pool_cleared_) return true;
  is_pool_cleared_ = pool_->clear_some(which, only, budget, tally);
  return is_pool_cleared_;
}

bool worker_applier::drop_some(std::size_t budget, apply_tally& tally) {
  storing_ = {};  // the batch may have been left in the middle
  paging_ = {};
  are_pages_cleared_ = false;
  pages_.abandon();
  if (pages_.pages() != 0 && (!pages_.forget_some(all_media, {}, budget) || pages_.pages() != 0)) return false;  // as below
  uncounted_.forget();
  // A batch may have been left in the middle of a clear, whose cursor this pass then only finishes: go round until nothing is left.
  if (!blocks_.clear_some(all_media, {}, budget, tally)) return false;
  is_pool_cleared_ = false;
  if (pool_ && (!pool_->clear_some(all_media, {}, budget, tally) || pool_->now().objects != 0)) return false;
  if (blocks_.names() + blocks_.orphans() != 0) return false;
  if (pool_ && !pool_->forget_homes()) return true;
  keep_homes({});
  room_wait_ = room_pause_ = 0;
  return true;
}

}  // namespace kvc::core
