#include "core/catalog.hpp"

#include <algorithm>
#include <cstddef>
#include <span>
#include <tuple>
#include <utility>

namespace kvc::core {
namespace {

auto member_order(const member& each) {
  return std::tie(each.key->instance, each.key->rank, each.key->kind, each.key->tenant, each.id);
}
bool is_before(const member& left, const member& right) { return member_order(left) < member_order(right); }

/// What a pool that is not shared lends, and to whom of its instance's members.
private_pool lent_by(const member& pool, std::span<const member> instance) {
  private_pool lent{.pool = pool.id, .users = {}};
  for (const member& user : instance) {
    if (user.key->tenant == pool.key->tenant && user.key->kind == publisher_class::engine) lent.users.push_back(user.id);
  }
  if (lent.users.empty()) lent.users.push_back(pool.id);
  return lent;
}

/// Which pools lend to whom, from scratch: membership changes are rare. Precondition: sorted, so that the members of an instance lie next
/// to each other; a fleet may have a pool for each of thousands.
match_scope scope_of(std::span<const member> members) {
  match_scope scope;
  while (!members.empty()) {
    const auto is_other = [&](const member& each) { return each.key->instance != members.front().key->instance; };
    const auto instance = members.first(static_cast<std::size_t>(std::ranges::find_if(members, is_other) - members.begin()));
    for (const member& pool : instance) {
      if (pool.key->kind != publisher_class::pool) continue;
      if (pool.shared_pool) {
        scope.pools.push_back(pool.id);
      } else {
        scope.private_pools.push_back(lent_by(pool, instance));
      }
    }
    members = members.subspan(instance.size());
  }
  std::ranges::sort(scope.pools);
  std::ranges::sort(scope.private_pools, {}, &private_pool::pool);
  return scope;
}

/// The board of the partitions that differ from this one by their adapter only; null when there are none.
std::shared_ptr<name_board> names_of(const catalog_view& all, const partition_key& key) {
  for (auto each = all.partitions.lower_bound({key.tenant, key.model, {}, {}, 0}); each != all.partitions.end(); ++each) {
    const partition_key& other = each->first;
    if (other.tenant != key.tenant || other.model != key.model) break;
    if (other.salt == key.salt && other.block_size == key.block_size) return each->second->partition->names();
  }
  return nullptr;
}

/// Precondition: sorted.
std::shared_ptr<const partition_view> view_of(std::shared_ptr<partition> home, member_list members) {
  auto view = std::make_shared<partition_view>();
  view->partition = std::move(home);
  view->scope = scope_of(members);
  view->members = std::move(members);
  view->by_worker = member_map(view->members);
  return view;
}

}  // namespace

std::optional<seq_hash> partition::told_block(engine_hash name) const {
  if (!names_->is_in_use()) return std::nullopt;
  const name_meaning means = names_->meaning_of(name);
  if (means.what != name_meaning::state::known || means.adapter != adapter_) return std::nullopt;
  return means.block;
}

const partition_view* catalog_view::find(const partition_key& key) const {
  const auto found = partitions.find(key);
  return found == partitions.end() ? nullptr : found->second.get();
}

result<std::shared_ptr<partition>> catalog::join(const partition_key& key, std::uint64_t seed, const member& who) {
  const std::lock_guard lock(changing_);
  const auto now = view_.get();
  const auto existing = now->partitions.find(key);
  std::shared_ptr<partition> home;
  member_list members;
  if (existing != now->partitions.end()) {
    home = existing->second->partition;
    if (home->seed() != seed) return errc::seed_conflict;
    const member_list& before = existing->second->members;
    if (existing->second->by_worker.find(who.id) != nullptr) return home;
    members.reserve(before.size() + 1);
    members.assign(before.begin(), before.end());
  } else {
    home = std::make_shared<partition>(key, seed, names_of(*now, key));
  }
  members.insert(std::ranges::upper_bound(members, who, is_before), who);
  auto next = std::make_shared<catalog_view>(*now);
  next->partitions[key] = view_of(home, std::move(members));
  view_.publish(std::move(next));
  return home;
}

bool catalog::accepts(const partition_key& key, std::uint64_t seed) const {
  const auto now = view_.get();
  const auto existing = now->partitions.find(key);
  return existing == now->partitions.end() || existing->second->partition->seed() == seed;
}

void catalog::rename(worker_id who, const std::shared_ptr<const worker_key>& key) {
  const std::lock_guard lock(changing_);
  auto next = std::make_shared<catalog_view>(*view_.get());
  for (auto& [each, view] : next->partitions) {
    if (view->by_worker.find(who) == nullptr) continue;
    member_list members = view->members;
    std::ranges::find(members, who, &member::id)->key = key;
    std::ranges::sort(members, is_before);
    view = view_of(view->partition, std::move(members));
  }
  view_.publish(std::move(next));
}

void catalog::leave(worker_id who) {
  leave(who, [](const partition_key&) { return true; });
}

void catalog::leave(worker_id who, const std::function<bool(const partition_key&)>& goes) {
  const std::lock_guard lock(changing_);
  const auto now = view_.get();
  auto next = std::make_shared<catalog_view>();
  for (const auto& [key, view] : now->partitions) {
    if (view->by_worker.find(who) == nullptr || !goes(key)) {
      next->partitions.emplace(key, view);
      continue;
    }
    member_list members = view->members;
    std::erase_if(members, [&](const member& each) { return each.id == who; });
    if (!members.empty()) next->partitions.emplace(key, view_of(view->partition, std::move(members)));
  }
  view_.publish(std::move(next));
}

}  // namespace kvc::core
