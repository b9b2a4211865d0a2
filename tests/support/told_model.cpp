#include "tests/support/told_model.hpp"

#include <algorithm>
#include <utility>
#include <variant>

#include "core/block_hasher.hpp"
#include "core/mixed_bits.hpp"

namespace kvc::test {

using namespace kvc::core;

told_model::told_model(registration from, placed_model& blocks, partition_numbers& numbers, std::uint32_t first_worker,
                       std::size_t max_orphans)
    : from_(std::move(from)), blocks_(&blocks), numbers_(&numbers), next_worker_(first_worker), max_orphans_(max_orphans) {
  be_unheard();
  workers_.emplace(from_.worker.rank.get(), add_worker());
}

worker_id told_model::add_worker() {
  const worker_id made{next_worker_++};
  blocks_->add_worker(made, {.instance = from_.worker.instance, .copy_counting = from_.copy_counting, .max_orphans = max_orphans_});
  blocks_->join(made, numbers_->of(from_.partition, from_.hash_seed));
  return made;
}

void told_model::be_unheard() {
  batches_ = events_ = {.is_believed = from_.type == publisher_type::tensorrt_llm};
}

void told_model::begin_anew() {
  be_unheard();
}

void told_model::leave() {
  for (const auto& [rank, who] : workers_) blocks_->drop_worker(who);
  workers_.clear();
}

void told_model::drop() {
  leave();
  workers_.emplace(from_.worker.rank.get(), add_worker());
  batches_.said_0 = events_.said_0 = has_own_ = false;
  windows_.clear();
  tracked_.clear();
}

std::uint32_t told_model::rank_of(const event_scope& scope, const event_batch& in) {
  const std::uint32_t registered = from_.worker.rank.get();
  place_of_rank& place = scope.rank ? events_ : batches_;
  const auto said = scope.rank ? scope.rank : in.rank;
  if (!said) {
    has_own_ = true;
    return registered;
  }
  if (said->get() == 0 && !place.is_believed) {
    place.said_0 = true;
    return registered;
  }
  if (said->get() != 0 && said->get() != registered) {
    const bool is_news = !batches_.is_believed || !events_.is_believed;
    batches_.is_believed = events_.is_believed = true;
    if (is_news) show_ranks();
  } else if (said->get() != 0) {
    if (!std::exchange(place.is_believed, true)) show_ranks();
    has_own_ = true;
  }
  return said->get();
}

void told_model::show_ranks() {
  const std::uint32_t registered = from_.worker.rank.get();
  const bool has_said_0 = batches_.said_0 || events_.said_0;
  const bool may_mean_own = (batches_.said_0 && !batches_.is_believed) || (events_.said_0 && !events_.is_believed);
  if (registered == 0 || !has_said_0 || may_mean_own || has_own_ || workers_.contains(0)) return;
  workers_.emplace(0, workers_.at(registered));
  workers_.at(registered) = add_worker();
  decltype(windows_) windows;
  for (const auto& [rank, group] : windows_) windows.emplace(rank == registered ? 0 : rank, group);
  windows_ = std::move(windows);
  decltype(tracked_) tracked;
  for (const auto& [what, copies] : tracked_) {
    auto moved = what;
    if (std::get<0>(moved) == registered) std::get<0>(moved) = 0;
    tracked.emplace(moved, copies);
  }
  tracked_ = std::move(tracked);
}

std::optional<worker_id> told_model::worker_of(const event_scope& scope, const event_batch& in, bool may_open) {
  last_rank_ = rank_of(scope, in);
  const auto known = workers_.find(last_rank_);
  if (known != workers_.end()) return known->second;
  if (!may_open) return std::nullopt;
  return workers_.emplace(last_rank_, add_worker()).first->second;
}

partition_key told_model::key_of(const event_scope& scope) const {
  partition_key key = from_.partition;
  if (scope.lora) key.lora = *scope.lora;
  if (scope.salt) key.salt = *scope.salt;
  if (scope.block_size != 0 && is_standard()) key.block_size = scope.block_size;
  return key;
}

std::uint64_t told_model::apart(engine_hash name, std::uint32_t group) const {
  return is_standard() ? name.get() : name.get() ^ (group * golden);
}

void told_model::apply(const event& what, const event_batch& in, bool has_room) {
  const auto* const stored = std::get_if<stored_event>(&what);
  const auto scope = std::visit([](const auto& each) { return each.scope; }, what);
  const auto who = worker_of(scope, in, stored != nullptr);
  if (!who) return;
  const std::uint32_t rank = last_rank_;
  if (stored != nullptr) store(*who, rank, *stored, has_room);
  if (const auto* const removed = std::get_if<removed_event>(&what)) remove(*who, rank, *removed);
  if (const auto* const cleared = std::get_if<cleared_event>(&what)) clear(*who, rank, *cleared);
}

void told_model::store(worker_id who, std::uint32_t rank, const stored_event& what, bool has_room) {
  const event_scope& scope = what.scope;
  const medium_id medium = scope.medium.value_or(from_.medium);
  if (!scope.prefix_complete) windows_.emplace(rank, scope.group);
  if (!scope.prefix_complete || (scope.takes_kind_of_group && windows_.contains({rank, scope.group}))) {
    for (const engine_hash name : what.hashes) {
      auto& copies = tracked_[{rank, scope.group, name.get(), medium}];
      copies = from_.copy_counting ? copies + 1 : 1;
    }
    return;
  }
  if (!has_room) return;
  if (what.base && what.base->get() != 0 && !what.parent && !is_standard()) return;  // a place that nothing tells
  const partition_key key = key_of(scope);
  store_step step;
  step.partition = numbers_->of(key, from_.hash_seed);
  step.medium = medium;
  for (const engine_hash name : what.hashes) step.names.emplace_back(apart(name, scope.group));
  if (what.standard_hashes) {
    step.how = link::standard;
    return blocks_->store(who, step);
  }
  step.how = what.parent ? link::parent : link::root;
  if (what.parent) step.parent = engine_hash{apart(*what.parent, scope.group)};
  const bool are_pages = scope.block_size != 0 && scope.block_size != from_.partition.block_size;
  const bool is_of_device =
      from_.type == publisher_type::vllm && medium != from_.medium && !are_pages && !step.names.empty() &&
      std::ranges::all_of(step.names, [&](engine_hash name) { return blocks_->is_on(who, name, step.partition, from_.medium); });
  const std::uint32_t tokens_each = are_pages ? scope.block_size : key.block_size;
  if (is_of_device || what.tokens.size() != std::size_t{tokens_each} * what.hashes.size()) {
    step.how = link::by_name;
    return blocks_->store(who, step);
  }
  hash_blocks(what.tokens, key.block_size, from_.hash_seed, step.locals);
  if (are_pages) {
    std::vector<engine_hash> names;
    for (const engine_hash page : step.names) names.insert(names.end(), {inner_name(page), page});
    step.names = std::move(names);
  }
  blocks_->store(who, step);
}

void told_model::remove(worker_id who, std::uint32_t rank, const removed_event& what) {
  const event_scope& scope = what.scope;
  const medium_id medium = scope.medium.value_or(from_.medium);
  removal_step from;
  if (is_standard()) {
    from.is_explicit = scope.lora || scope.salt;
    from.partition = numbers_->of(key_of(scope), from_.hash_seed);
  }
  for (const engine_hash name : what.hashes) {
    const auto known = tracked_.find({rank, scope.group, name.get(), medium});
    if (windows_.contains({rank, scope.group}) && known != tracked_.end()) {
      if (!from_.copy_counting || --known->second == 0) tracked_.erase(known);
      continue;
    }
    const engine_hash called{apart(name, scope.group)};
    if (is_page(name) && !is_standard()) blocks_->remove(who, inner_name(called), medium);
    blocks_->remove(who, called, medium, from);
  }
}

void told_model::clear(worker_id who, std::uint32_t rank, const cleared_event& what) {
  const event_scope& scope = what.scope;
  const media_mask which = scope.medium ? mask_of(*scope.medium) : is_standard() ? all_media : mask_of(from_.medium);
  const bool names_partitions = scope.lora || scope.salt || scope.block_size != 0;
  if (!names_partitions) {
    std::erase_if(tracked_,
                  [&](const auto& each) { return std::get<0>(each.first) == rank && (mask_of(std::get<3>(each.first)) & which) != 0; });
    return blocks_->clear(who, which, std::nullopt);
  }
  for (const auto& [key, number] : numbers_->all()) {
    if (is_in_scope(key.first, scope)) blocks_->clear(who, which, number);
  }
}

}  // namespace kvc::test
