#include "core/entry_count.hpp"

#include <algorithm>

namespace kvc::core {
namespace {

constexpr std::size_t least_room = 8;

}  // namespace

std::shared_ptr<entry_count::part> entry_count::enroll() {
  auto made = std::make_shared<part>();
  const std::lock_guard lock(changing_);
  // Looking through all parts for those that are gone each time would be quadratic in a fleet that joins at once. So it is done when the
  // room is used up, of which half or more is free then.
  if (parts_.size() == parts_.capacity()) {
    std::erase_if(parts_, [](const auto& each) { return each.expired(); });
    if (parts_.size() >= parts_.capacity() / 2) parts_.reserve(std::max(least_room, parts_.size() * 2));
  }
  parts_.emplace_back(made);
  return made;
}

std::uint64_t entry_count::sum() const {
  const std::lock_guard lock(changing_);
  std::uint64_t all = 0;
  for (const auto& each : parts_) {
    if (const auto kept = each.lock()) all += kept->entries.get();
  }
  return all;
}

}  // namespace kvc::core
