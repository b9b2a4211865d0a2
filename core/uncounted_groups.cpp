#include "core/uncounted_groups.hpp"

namespace kvc::core {

bool uncounted_groups::covers(const event_scope& scope) {
  if (!scope.prefix_complete && groups_.size() < max_groups) groups_.insert(scope.group);
  return !scope.prefix_complete || groups_.contains(scope.group);
}

std::uint64_t uncounted_groups::key(engine_hash name, std::uint32_t group) noexcept {
  return name.get() ^ (group * 0x9E37'79B9'7F4A'7C15ULL);  // the 64-bit golden ratio
}

void uncounted_groups::store(std::span<const engine_hash> names, std::uint32_t group, medium_id medium) {
  if (!copies_) copies_ = std::make_unique<std::array<copies, max_media>>();
  copies& held = (*copies_)[static_cast<std::size_t>(medium)];
  for (const engine_hash name : names) {
    const auto found = held.find(key(name, group));
    if (found != held.end()) {
      if (copy_counting_) ++found->second;
    } else if (blocks_ < max_names) {
      held.emplace(key(name, group), 1);
      ++blocks_;
    }
  }
}

void uncounted_groups::remove(std::span<const engine_hash> names, std::uint32_t group, medium_id medium) {
  if (!copies_) return;
  copies& held = (*copies_)[static_cast<std::size_t>(medium)];
  for (const engine_hash name : names) {
    const auto found = held.find(key(name, group));
    if (found == held.end() || (copy_counting_ && --found->second != 0)) continue;
    held.erase(found);
    --blocks_;
  }
}

void uncounted_groups::clear(media_mask which) {
  if (!copies_) return;
  for (std::size_t i = 0; i < copies_->size(); ++i) {
    if ((mask_of(static_cast<medium_id>(i)) & which) == 0) continue;
    blocks_ -= (*copies_)[i].size();
    (*copies_)[i].clear();
  }
}

void uncounted_groups::forget() {
  copies_.reset();
  blocks_ = 0;
  groups_.clear();
}

}  // namespace kvc::core
