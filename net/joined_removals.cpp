#include "net/joined_removals.hpp"

#include <variant>

namespace kvc::net {

bool can_join(const core::event& last, const core::removed_event& next) {
  const auto* const before = std::get_if<core::removed_event>(&last);
  return before != nullptr && before->hashes.size() + next.hashes.size() <= most_joined_names && before->all_media == next.all_media &&
         before->scope.object_key.empty() && before->scope == next.scope;
}

bool join_last_removals(std::vector<core::event>& events) {
  if (events.size() < 2) return false;
  const auto* const next = std::get_if<core::removed_event>(&events.back());
  core::event& last = events[events.size() - 2];
  if (next == nullptr || !can_join(last, *next)) return false;
  auto& names = std::get<core::removed_event>(last).hashes;
  names.insert(names.end(), next->hashes.begin(), next->hashes.end());
  events.pop_back();
  return true;
}

}  // namespace kvc::net
