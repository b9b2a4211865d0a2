#include "perf/sim_mp_storage.hpp"

#include "perf/sim_mp_wire.hpp"

namespace kvc::sim {

std::optional<mp_page> mp_storage::list(const std::optional<std::string>& token, std::size_t page_size) const {
  auto at = objects_.begin();
  if (token) {
    const auto last = mp_key_of_token(*token);
    if (!last) return std::nullopt;
    at = objects_.upper_bound(*last);
  }
  mp_page page;
  while (at != objects_.end() && page.entries.size() < page_size) {
    page.entries.push_back({.key = at->first, .bytes = at->second});
    ++at;
  }
  if (at != objects_.end() && !page.entries.empty()) page.next = mp_token_of_key(page.entries.back().key);
  return page;
}

std::optional<mp_entry> mp_storage::near(const core::owned_object_key& place) const {
  if (objects_.empty()) return std::nullopt;
  auto at = objects_.lower_bound(place);
  if (at == objects_.end()) at = objects_.begin();
  return mp_entry{.key = at->first, .bytes = at->second};
}

std::uint64_t mp_storage::bytes() const noexcept {
  std::uint64_t sum = 0;
  for (const auto& [key, bytes] : objects_) sum += bytes;
  return sum;
}

}  // namespace kvc::sim
