#include "core/seqno_watch.hpp"

namespace kvc::core {

seqno_watch::verdict seqno_watch::observe(std::string_view instance_id, seqno number) {
  ++counts_.batches;
  const auto [newest, is_first] = newest_.hear(instance_id);
  const verdict seen = is_first ? verdict::first : judge(newest, number);
  newest = number;
  return seen;
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
  const seqno* known = newest_.find(instance_id);
  if (known == nullptr) return std::nullopt;
  return *known;
}

}  // namespace kvc::core
