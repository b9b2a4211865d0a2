#include "core/uncounted_groups.hpp"

#include <bit>

#include "core/copy_count.hpp"
#include "core/mixed_bits.hpp"

namespace kvc::core {

bool uncounted_groups::covers(const event_scope& scope) {
  if (!scope.prefix_complete && groups_.size() < max_groups) groups_.insert(scope.group);
  return !scope.prefix_complete || (scope.takes_kind_of_group && knows(scope.group));
}

std::uint64_t uncounted_groups::key(engine_hash name, std::uint32_t group) noexcept {
  return name.get() ^ (group * golden);
}

void uncounted_groups::store(std::span<const engine_hash> names, std::uint32_t group, medium_id medium) {
  if (!tracked_) tracked_ = std::make_unique<tracked>();
  copies& held = tracked_->on[static_cast<std::size_t>(medium)];
  for (const engine_hash name : names) {
    const auto found = held.find(key(name, group));
    if (found != held.end()) {
      if (copy_counting_) found->second = sum_of_copies(found->second, 1);
    } else if (blocks_ < max_names) {
      held.emplace(key(name, group), 1);
      ++blocks_;
    }
  }
}

std::span<const engine_hash> uncounted_groups::remove(std::span<const engine_hash> names, std::uint32_t group, media_mask which) {
  if (blocks_ == 0) return names;
  const bool is_of_others = groups_.size() < max_groups && !knows(group);
  if (is_of_others) return names;
  tracked_->others.clear();
  for (const engine_hash name : names) {
    bool is_known = false;
    for (unsigned rest = which; rest != 0; rest &= rest - 1) {
      const auto medium = static_cast<std::size_t>(std::countr_zero(rest));
      is_known = remove_one(key(name, group), tracked_->on[medium]) || is_known;
    }
    if (!is_known) tracked_->others.push_back(name);
  }
  return tracked_->others;
}

bool uncounted_groups::remove_one(std::uint64_t key, copies& held) {
  const auto found = held.find(key);
  if (found == held.end()) return false;
  if (copy_counting_ && --found->second != 0) return true;
  held.erase(found);
  --blocks_;
  return true;
}

void uncounted_groups::clear(media_mask which) {
  if (!tracked_) return;
  for (std::size_t i = 0; i < tracked_->on.size(); ++i) {
    if ((mask_of(static_cast<medium_id>(i)) & which) == 0) continue;
    blocks_ -= tracked_->on[i].size();
    tracked_->on[i].clear();
  }
}

void uncounted_groups::forget() {
  tracked_.reset();
  blocks_ = 0;
  groups_.clear();
}

}  // namespace kvc::core
