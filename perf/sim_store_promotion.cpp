// Look-ups that bring objects of a stand-in store back to memory, and the gates before that.
#include <algorithm>

#include "perf/sim_store_storage.hpp"

namespace kvc::sim {

store_promotion store_storage::look_up(std::string_view key, milliseconds now, store_trick trick) {
  if (!get(key, now)) return store_promotion::unknown;
  object& what = objects_.find(key)->second;
  using enum store_medium;
  if (what.has(memory, true) || what.has(memory, false) || !what.has(local_disk, true)) return store_promotion::not_needed;
  if (trick == store_trick::ignored || ++what.hits < rules_.threshold) return store_promotion::not_yet;
  const double after = static_cast<double>(used() + what.bytes) / static_cast<double>(rules_.capacity);
  const auto segment = room(what.bytes, std::nullopt);
  if (has_pressure_ || after > rules_.watermark || !segment) {
    ++counts_.rejected_by_watermark;
    return store_promotion::by_watermark;
  }
  if (promotions_.size() >= rules_.queue) {
    ++counts_.rejected_by_queue;
    return store_promotion::by_queue;
  }
  add_memory(what, *segment, false);
  promotions_.push_back({.key = std::string(key),
                         .due = now + (trick == store_trick::late ? rules_.late_copy : rules_.copy),
                         .is_revoked = trick == store_trick::revoked});
  return store_promotion::started;
}

void store_storage::end_promotion(const promotion& which, milliseconds now) {
  const auto at = objects_.find(which.key);
  if (at == objects_.end()) return;
  object& what = at->second;
  for (std::size_t i = what.replicas.size(); i-- > 0;) {
    if (what.replicas[i].is_complete || what.replicas[i].medium != store_medium::memory) continue;
    what.hits = 0;
    if (which.is_revoked) {
      drop(what, i);
      ++counts_.revoked;
      return;
    }
    const auto before = what.replicas;
    what.replicas[i].is_complete = true;
    what.leased_until = now + rules_.lease;  // what was promoted is about to be read
    ++counts_.promoted;
    touch(at);
    note(store_change::kind::promoted, at->first, before, &what);
    return;
  }
}

void store_storage::advance(milliseconds now) {
  std::vector<promotion> due;
  std::erase_if(promotions_, [&](const promotion& each) {
    if (each.due > now) return false;
    due.push_back(each);
    return true;
  });
  for (const promotion& each : due) end_promotion(each, now);
  const auto share = [&](double of) { return static_cast<std::uint64_t>(of * static_cast<double>(rules_.capacity)); };
  if (used() <= share(rules_.high_mark)) return;
  const std::uint64_t goal = share(rules_.high_mark - rules_.evict_share);
  while (used() > goal && evict_coldest(now)) {
  }
}

std::optional<store_storage::milliseconds> store_storage::next_due() const {
  const auto first = std::ranges::min_element(promotions_, {}, &promotion::due);
  if (first == promotions_.end()) return std::nullopt;
  return first->due;
}

}  // namespace kvc::sim
