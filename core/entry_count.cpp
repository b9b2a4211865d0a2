#include "core/entry_count.hpp"

namespace kvc::core {

std::shared_ptr<entry_count::part> entry_count::enroll() {
  auto made = std::make_shared<part>();
  const std::lock_guard lock(changing_);
  std::erase_if(parts_, [](const auto& each) { return each.expired(); });
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
