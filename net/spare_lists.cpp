#include "net/spare_lists.hpp"

#include <utility>
#include <variant>

namespace kvc::net {

template <class Element>
void spare_lists::keep(std::vector<Element>& list, std::vector<std::vector<Element>>& with) {
  const std::size_t bytes = list.capacity() * sizeof(Element);
  if (bytes != 0 && bytes <= most_bytes && with.size() < most_lists) with.push_back(std::move(list));
}

void spare_lists::take_back(std::vector<core::event>& done) {
  for (core::event& each : done) {
    if (auto* const stored = std::get_if<core::stored_event>(&each)) {
      keep(stored->hashes, names_);
      keep(stored->tokens, tokens_);
    } else if (auto* const removed = std::get_if<core::removed_event>(&each)) {
      keep(removed->hashes, names_);
    }
  }
  done.clear();
}

}  // namespace kvc::net
