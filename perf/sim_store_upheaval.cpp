// What takes objects of a stand-in store away, or elsewhere, without anybody's reading or writing them.
#include <algorithm>

#include "perf/sim_store_storage.hpp"

namespace kvc::sim {

bool store_storage::remove(std::string_view key) {
  const auto at = objects_.find(key);
  if (at == objects_.end()) return false;
  note(store_change::kind::removed, at->first, at->second.replicas, nullptr);
  erase(at);
  return true;
}

void store_storage::remove_all() {
  while (!objects_.empty()) erase(objects_.begin());
  promotions_.clear();
  note(store_change::kind::removed_all, {}, {}, nullptr);
}

bool store_storage::copy(std::string_view key, bool is_move) {
  const auto at = objects_.find(key);
  if (at == objects_.end()) return false;
  object& what = at->second;
  const auto from = std::ranges::find_if(what.replicas,
                                         [](const store_replica& each) { return each.medium == store_medium::memory && each.is_complete; });
  if (from == what.replicas.end()) return false;
  const auto to = static_cast<std::uint32_t>((from->segment + 1) % used_.size());
  const bool is_there = std::ranges::any_of(
      what.replicas, [&](const store_replica& each) { return each.medium == store_medium::memory && each.segment == to; });
  if (is_there || used_[to] + what.bytes > rules_.capacity / used_.size()) return false;
  const auto before = what.replicas;
  const auto index = static_cast<std::size_t>(from - what.replicas.begin());
  add_memory(what, to, true);
  if (is_move) drop(what, index);
  note(is_move ? store_change::kind::moved : store_change::kind::copied, at->first, before, &what);
  return true;
}

void store_storage::lose_segment(std::uint32_t segment, bool with_client) {
  for (auto at = objects_.begin(); at != objects_.end();) {
    const auto here = at++;
    object& what = here->second;
    const auto before = what.replicas;
    for (std::size_t i = what.replicas.size(); i-- > 0;) {
      const store_replica& each = what.replicas[i];
      const bool is_gone = each.medium == store_medium::memory || (with_client && each.medium == store_medium::local_disk);
      if (is_gone && each.segment == segment) drop(what, i);
    }
    if (what.replicas == before) continue;
    note(with_client ? store_change::kind::client_lost : store_change::kind::segment_lost, here->first, before, &what);
    if (what.replicas.empty()) erase(here);
  }
}

}  // namespace kvc::sim
