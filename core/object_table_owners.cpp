// The owners of object_table, and what becomes of all objects of one of them.
#include <string>
#include <utility>

#include "core/object_table.hpp"

namespace kvc::core {

std::uint32_t object_table::owner(std::string_view backend, std::string_view tenant) {
  std::string name(backend);
  name += '\0';
  name += tenant;
  if (const auto found = owner_names_.find(name); found != owner_names_.end()) return found->second;
  std::uint32_t number = static_cast<std::uint32_t>(owners_.size());
  if (owners_.size() < options_.most_owners) {
    owners_.emplace_back();
  } else {
    number = give_way();
  }
  if (number == no_record) return no_record;
  const auto made = owner_names_.emplace(std::move(name), number).first;
  owners_[number].name = &made->first;
  return number;
}

/// The number of an owner without objects, which is forgotten; the longest unused ones first, more or less.
std::uint32_t object_table::give_way() {
  if (owners_with_objects_ == owners_.size()) return no_record;
  for (;; ++next_to_give_way_) {
    if (next_to_give_way_ >= owners_.size()) next_to_give_way_ = 0;
    if (owners_[next_to_give_way_].objects == 0) break;
  }
  const std::uint32_t number = next_to_give_way_++;
  owner_names_.erase(*owners_[number].name);
  owners_[number] = {};
  return number;
}

std::uint32_t object_table::find_owner(std::string_view backend, std::string_view tenant) const {
  std::string name(backend);
  name += '\0';
  name += tenant;
  const auto found = owner_names_.find(name);
  return found == owner_names_.end() ? no_record : found->second;
}

std::vector<std::uint32_t> object_table::owners_of(std::string_view backend) const {
  std::string beginning(backend);
  beginning += '\0';
  std::vector<std::uint32_t> all;
  for (auto at = owner_names_.lower_bound(beginning); at != owner_names_.end() && at->first.starts_with(beginning); ++at) {
    all.push_back(at->second);
  }
  return all;
}

std::string_view object_table::tenant_of(std::uint32_t owner) const {
  const std::string_view name = *owners_[owner].name;
  return name.substr(name.find('\0') + 1);
}

bool object_table::clear_kinds_some(std::string_view backend, const std::optional<std::string>& tenant, std::span<const replica_kind> kinds,
                                    std::uint32_t& at, std::size_t budget, std::uint32_t now_s,
                                    const std::function<void(std::uint32_t object)>& tell) {
  std::string beginning(backend);
  beginning += '\0';
  const auto is_meant = [&](std::uint32_t owner) {
    const std::string_view name = *owners_[owner].name;
    return name.starts_with(beginning) && (!tenant || name.substr(beginning.size()) == *tenant);
  };
  for (; budget != 0 && at < records_.made(); --budget, ++at) {
    if (records_[at].text == nullptr || !is_meant(records_[at].owner)) continue;
    const std::uint32_t owner = records_[at].owner;
    for (const replica_kind kind : kinds) {
      if (records_[at].text == nullptr) break;  // nothing was left of it
      const replica_set has = replicas(at);
      if (!has.has(kind, replica_state::complete) && !has.has(kind, replica_state::in_flight)) continue;
      if (tell) tell(at);
      remove(owner, std::string(key(at)), kind, now_s);
    }
  }
  return at >= records_.made();
}

}  // namespace kvc::core
