#include "core/event_applier.hpp"

#include <stdexcept>
#include <utility>

#include "core/block_hasher.hpp"

namespace kvc::core {
namespace {

constexpr std::size_t max_uncounted_groups = 64;  ///< engines have a handful; a stream that invents more is not believed

/// Whether a partition agrees with every dimension that an event names.
bool is_in_scope(const partition_key& key, const event_scope& scope) {
  return (!scope.tenant || *scope.tenant == key.tenant) && (!scope.model || *scope.model == key.model) &&
         (!scope.lora || *scope.lora == key.lora) && (!scope.salt || *scope.salt == key.salt) &&
         (scope.block_size == 0 || scope.block_size == key.block_size);
}

bool names_dimensions(const event_scope& scope) { return scope.tenant || scope.model || scope.lora || scope.salt || scope.block_size != 0; }

bool speaks_standard(publisher_type type) { return type == publisher_type::standard || type == publisher_type::mooncake; }

}  // namespace

event_applier::event_applier(const registration& from, const member& who, catalog& partitions, options limits)
    : registration_(from),
      member_(who),
      catalog_(&partitions),
      limits_(limits),
      has_standard_names_(speaks_standard(from.type)),
      blocks_({.worker = who.id, .copy_counting = from.copy_counting, .max_orphans = limits.max_orphans, .lane = limits.lane}) {
  auto joined = partitions.join(from.partition, from.hash_seed, who);
  if (!joined) throw std::invalid_argument(joined.error().message());
  home_ = *std::move(joined);
}

engine_hash event_applier::in_group(engine_hash name, std::uint32_t group) const {
  // (kv-events.md section 10, case 15.) The multiplier is the 64-bit golden ratio.
  return group == 0 || has_standard_names_ ? name : engine_hash{name.get() ^ (group * 0x9E37'79B9'7F4A'7C15ULL)};
}

std::shared_ptr<partition> event_applier::home_of(const event_scope& scope) {
  if (is_in_scope(home_->key(), scope)) return home_;
  partition_key key = registration_.partition;
  if (scope.block_size != 0 && scope.block_size != key.block_size) {
    if (!speaks_standard(registration_.type)) return nullptr;
    key.block_size = scope.block_size;
  }
  if (scope.lora) key.lora = *scope.lora;
  if (scope.tenant) key.tenant = *scope.tenant;
  if (scope.model) key.model = *scope.model;
  if (scope.salt) key.salt = *scope.salt;
  if (const auto known = others_.find(key); known != others_.end()) return known->second;
  if (others_.size() >= limits_.max_partitions) return nullptr;
  auto joined = catalog_->join(key, registration_.hash_seed, member_);
  if (!joined) return nullptr;  // another publisher opened it under another seed
  others_.emplace(std::move(key), *joined);
  return *joined;
}

bool event_applier::is_counted_group(const event_scope& scope) {
  if (!scope.prefix_complete && uncounted_groups_.size() < max_uncounted_groups) uncounted_groups_.insert(scope.group);
  return scope.prefix_complete && !uncounted_groups_.contains(scope.group);
}

bool event_applier::apply_some(const event_batch& batch, progress& at, std::size_t budget, apply_tally& tally) {
  std::size_t spent = 0;
  while (at.next_event < batch.events.size()) {
    if (spent >= budget) return false;
    const event& next = batch.events[at.next_event];
    if (const auto* stored = std::get_if<stored_event>(&next)) {
      store(*stored, tally);
      spent += stored->hashes.size() + 1;
    } else if (const auto* removed = std::get_if<removed_event>(&next)) {
      remove(*removed, tally);
      spent += removed->hashes.size() + 1;
    } else if (!clear_some(std::get<cleared_event>(next), budget - spent, tally)) {
      return false;
    }
    ++at.next_event;
  }
  return true;
}

void event_applier::store(const stored_event& stored, apply_tally& tally) {
  const event_scope& scope = stored.scope;
  const auto home = is_counted_group(scope) ? home_of(scope) : nullptr;
  if (!home) {
    tally.skipped += stored.hashes.size();
    return;
  }
  store_command command;
  command.home = home;
  command.medium = scope.medium.value_or(registration_.medium);
  const bool is_behind_unnamed = stored.base && stored.base->get() != 0 && !stored.parent;
  locals_.clear();
  has_standard_names_ = has_standard_names_ || stored.standard_hashes;
  if (stored.standard_hashes || (is_behind_unnamed && speaks_standard(registration_.type))) {
    command.link = store_link::standard;
  } else if (stored.tokens.empty()) {
    command.link = store_link::by_name;
  } else if (stored.tokens.size() == stored.hashes.size() * home->key().block_size && !is_behind_unnamed) {
    hash_blocks(stored.tokens, home->key().block_size, home->seed(), locals_, stored.extra_keys);
    command.link = stored.parent ? store_link::parent : store_link::root;
  } else {
    tally.skipped += stored.hashes.size();
    return;
  }
  if (stored.parent) command.parent = in_group(*stored.parent, scope.group);
  command.locals = locals_;
  command.names = stored.hashes;
  if (scope.group != 0 && !has_standard_names_) {
    names_.clear();
    for (const engine_hash name : stored.hashes) names_.push_back(in_group(name, scope.group));
    command.names = names_;
  }
  const media_mask medium = mask_of(command.medium);
  if ((member_.media_seen->load(std::memory_order_relaxed) & medium) == 0) member_.media_seen->fetch_or(medium, std::memory_order_relaxed);
  blocks_.store(command, tally);
}

void event_applier::remove(const removed_event& removed, apply_tally& tally) {
  if (!is_counted_group(removed.scope)) return;
  const medium_id medium = removed.scope.medium.value_or(registration_.medium);
  std::span<const engine_hash> names = removed.hashes;
  if (removed.scope.group != 0 && !has_standard_names_) {
    names_.clear();
    for (const engine_hash name : removed.hashes) names_.push_back(in_group(name, removed.scope.group));
    names = names_;
  }
  blocks_.remove(names, medium, tally);
}

media_mask event_applier::media_cleared_by(const cleared_event& cleared) const {
  if (cleared.scope.medium) return mask_of(*cleared.scope.medium);
  const bool is_everything = speaks_standard(registration_.type) || registration_.worker.kind == publisher_class::pool;
  return is_everything ? all_media : mask_of(registration_.medium);
}

bool event_applier::clears_everything(const cleared_event& cleared) const {
  const media_mask ever = member_.media_seen->load(std::memory_order_relaxed);
  return !names_dimensions(cleared.scope) && (ever & ~media_cleared_by(cleared)) == 0;
}

bool event_applier::clear_some(const cleared_event& cleared, std::size_t budget, apply_tally& tally) {
  const media_mask which = media_cleared_by(cleared);
  // The standard scopes a clear by the dimensions it names; an engine's clear names none and means all of them.
  const event_scope& scope = cleared.scope;
  std::vector<const partition*> only;
  if (names_dimensions(scope)) {
    if (is_in_scope(home_->key(), scope)) only.push_back(home_.get());
    for (const auto& [key, home] : others_) {
      if (is_in_scope(key, scope)) only.push_back(home.get());
    }
    if (only.empty()) return true;
  }
  return blocks_.clear_some(which, only, budget, tally);
}

bool event_applier::drop_some(std::size_t budget, apply_tally& tally) {
  // A batch may have been left in the middle of a clear, whose cursor this pass then only finishes: go round until nothing is left.
  return blocks_.clear_some(all_media, {}, budget, tally) && blocks_.names() == 0;
}

void event_applier::leave() { catalog_->leave(member_.id); }

}  // namespace kvc::core
