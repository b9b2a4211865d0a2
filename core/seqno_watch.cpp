#include "core/seqno_watch.hpp"

#include <iterator>

namespace kvc::core {

seqno_watch::verdict seqno_watch::observe(std::string_view instance_id, seqno number) {
  ++counts_.batches;
  if (const auto known = by_id_.find(instance_id); known != by_id_.end()) {
    const place where = known->second;
    const verdict seen = judge(where->newest, number);
    where->newest = number;
    senders_.splice(senders_.end(), senders_, where);
    return seen;
  }
  if (senders_.size() >= most_) {
    by_id_.erase(senders_.front().instance_id);
    senders_.pop_front();
    ++counts_.forgotten;
  }
  senders_.push_back({.instance_id = std::string(instance_id), .newest = number});
  by_id_.emplace(senders_.back().instance_id, std::prev(senders_.end()));
  return verdict::first;
}

seqno_watch::verdict seqno_watch::judge(seqno newest, seqno number) {
  if (number == newest) {
    ++counts_.repeats;
    return verdict::repeat;
  }
  if (number < newest) {
    ++counts_.restarts;
    return verdict::restart;
  }
  const std::uint64_t missing = number.get() - newest.get() - 1;
  if (missing == 0) return verdict::next;
  ++counts_.gaps;
  counts_.missing += missing;
  return verdict::gap;
}

std::optional<seqno> seqno_watch::newest(std::string_view instance_id) const {
  const auto known = by_id_.find(instance_id);
  if (known == by_id_.end()) return std::nullopt;
  return known->second->newest;
}

}  // namespace kvc::core
