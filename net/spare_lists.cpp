#include "net/spare_lists.hpp"

#include <algorithm>
#include <utility>
#include <variant>

namespace kvc::net {

template <class Element>
void spare_lists::stacks<Element>::keep(std::vector<Element>& list) {
  const std::size_t capacity = list.capacity();
  if (capacity == 0 || capacity * sizeof(Element) > most_bytes) return;
  auto& with = capacity <= longest_short ? short_ : long_;
  if (with.size() == most_lists) {
    if (capacity <= longest_short) return;
    const auto shortest = std::ranges::min_element(with, {}, [](const auto& each) { return each.capacity(); });
    if (shortest->capacity() >= capacity) return;
    with.erase(shortest);
  }
  with.push_back(std::move(list));
}

void spare_lists::take_back(std::vector<core::event>& done) {
  for (core::event& each : done) {
    if (auto* const stored = std::get_if<core::stored_event>(&each)) {
      names_.keep(stored->hashes);
      tokens_.keep(stored->tokens);
      locals_.keep(stored->locals);
    } else if (auto* const removed = std::get_if<core::removed_event>(&each)) {
      names_.keep(removed->hashes);
    }
  }
  done.clear();
}

}  // namespace kvc::net
