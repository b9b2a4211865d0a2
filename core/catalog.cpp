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
bool is_before(const member& left, const member& right) {
  return member_order(left) < member_order(right);
}

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
  // Few names are watched for one adapter, so mostly the first look tells.
  for (const std::uint32_t whose : {name_board::anybodys, std::uint32_t{adapter_}}) {
    const name_meaning means = names_->meaning_of(name, whose);
    if (means.what == name_meaning::state::known && means.adapter == adapter_) return means.block;
  }
  return std::nullopt;
}

const partition_view* catalog_view::find(const partition_key& key) const {
  const auto found = partitions.find(key);
  return found == partitions.end() ? nullptr : found->second.get();
}

bool catalog::by_family::operator()(const partition_key& left, const partition_key& right) const noexcept {
  const auto all_but_adapter = [](const partition_key& of) { return std::tie(of.tenant, of.model, of.salt, of.block_size); };
  return all_but_adapter(left) < all_but_adapter(right);
}

result<std::shared_ptr<partition>> catalog::join(const partition_key& key, std::uint64_t seed, const member& who) {
  const std::lock_guard lock(changing_);
  const auto now = view_.get();
  const partition_view* const existing = now->find(key);
  std::shared_ptr<partition> home;
  member_list members;
  if (existing != nullptr) {
    home = existing->partition;
    if (home->seed() != seed) return errc::seed_conflict;
    const member_list& before = existing->members;
    if (existing->by_worker.find(who.id) != nullptr) return home;
    members.reserve(before.size() + 1);
    members.assign(before.begin(), before.end());
  } else {
    const auto known = families_.find(key);
    home = std::make_shared<partition>(key, seed, known == families_.end() ? nullptr : known->second.names);
  }
  members.insert(std::ranges::upper_bound(members, who, is_before), who);
  auto next = std::make_shared<catalog_view>(*now);
  next->partitions.set(view_of(home, std::move(members)));
  // Should one of these two fail, nothing has happened: a family without partitions is none, nor is a worker without homes.
  family& of = families_[key];
  homes_[who.id].push_back(home.get());
  if (existing == nullptr) {
    of.names = home->names();
    ++of.partitions;
  }
  view_.publish(std::move(next));
  return home;
}

bool catalog::accepts(const partition_key& key, std::uint64_t seed) const {
  const auto now = view_.get();
  const partition_view* const existing = now->find(key);
  return existing == nullptr || existing->partition->seed() == seed;
}

void catalog::rename(worker_id who, const std::shared_ptr<const worker_key>& key) {
  const std::lock_guard lock(changing_);
  const auto own = homes_.find(who);
  if (own == homes_.end()) return;
  auto next = std::make_shared<catalog_view>(*view_.get());
  for (const partition* const home : own->second) {
    const auto before = next->partitions.at(home->key());
    member_list members = before->members;
    std::ranges::find(members, who, &member::id)->key = key;
    std::ranges::sort(members, is_before);
    next->partitions.set(view_of(before->partition, std::move(members)));
  }
  view_.publish(std::move(next));
}

void catalog::leave(worker_id who) {
  leave(who, [](const partition_key&) { return true; });
}

void catalog::leave(worker_id who, const std::function<bool(const partition_key&)>& goes) {
  const std::lock_guard lock(changing_);
  const auto own = homes_.find(who);
  if (own == homes_.end()) return;
  const auto left = std::ranges::partition(own->second, [&goes](const partition* each) { return !goes(each->key()); });
  if (left.empty()) return;
  const auto now = view_.get();  // keeps the partitions until the end
  auto next = std::make_shared<catalog_view>(*now);
  for (const partition* const home : left) {
    const auto before = next->partitions.at(home->key());
    member_list members = before->members;
    std::erase_if(members, [who](const member& each) { return each.id == who; });
    if (members.empty()) {
      next->partitions.erase(home->key());
    } else {
      next->partitions.set(view_of(before->partition, std::move(members)));
    }
  }
  // From here on nothing can fail.
  for (const partition* const home : left) {
    if (next->find(home->key()) != nullptr) continue;
    const auto of = families_.find(home->key());
    if (--of->second.partitions == 0) families_.erase(of);
  }
  own->second.erase(left.begin(), left.end());
  if (own->second.empty()) homes_.erase(own);
  view_.publish(std::move(next));
}

}  // namespace kvc::core
