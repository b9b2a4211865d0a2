#include "core/seqno_watch.hpp"

namespace kvc::core {

seqno_watch::verdict seqno_watch::observe(std::string_view instance_id, seqno number) {
  ++counts_.batches;
  const auto [known, is_first] = senders_.hear(instance_id);
  const verdict seen = is_first ? verdict::first : judge(known, number);
  known.newest = number;
  return seen;
}

seqno_watch::verdict seqno_watch::judge(sender& known, seqno number) {
  if (number == known.newest) {
    ++counts_.repeats;
    ++known.repeats;
    return verdict::repeat;
  }
  if (number < known.newest) {
    ++counts_.restarts;
    ++known.restarts;
    return verdict::restart;
  }
  const std::uint64_t missing = number.get() - known.newest.get() - 1;
  if (missing == 0) return verdict::next;
  ++counts_.gaps;
  counts_.missing += missing;
  known.missing += missing;
  return verdict::gap;
}

std::optional<seqno> seqno_watch::newest(std::string_view instance_id) const {
  const sender* known = senders_.find(instance_id);
  if (known == nullptr) return std::nullopt;
  return known->newest;
}

}  // namespace kvc::core
