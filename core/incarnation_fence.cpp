#include "core/incarnation_fence.hpp"

namespace kvc::core {

incarnation_fence::verdict incarnation_fence::admit(std::string_view instance_id, std::uint64_t incarnation, seqno number) {
  const auto [from, is_first] = senders_.hear(instance_id);
  if (is_first) from = {.incarnation = incarnation, .first = number.get(), .newest = number.get(), .seen = 1};
  const verdict seen = is_first ? verdict::apply : judge(from, incarnation, number.get());
  ++(seen == verdict::apply ? counts_.applied : seen == verdict::stale ? counts_.stale : counts_.duplicates);
  return seen;
}

void incarnation_fence::take_back(std::string_view instance_id, std::uint64_t incarnation, seqno number) noexcept {
  state* const from = senders_.find(instance_id);
  if (from == nullptr || from->incarnation != incarnation || number.get() > from->newest) return;
  const std::uint64_t age = from->newest - number.get();
  if (age >= window) return;
  from->seen &= ~(std::uint64_t{1} << age);
  if (number.get() > from->first) ++counts_.skipped;
}

incarnation_fence::verdict incarnation_fence::judge(state& from, std::uint64_t incarnation, std::uint64_t number) {
  if (incarnation < from.incarnation) return verdict::stale;
  if (incarnation > from.incarnation) {
    ++counts_.restarts;
    from = {.incarnation = incarnation, .first = number, .newest = number, .seen = 1};
    return verdict::apply;
  }
  if (number > from.newest) {
    const std::uint64_t step = number - from.newest;
    counts_.skipped += step - 1;
    from.seen = step >= window ? 1 : from.seen << step | 1;
    from.newest = number;
    return verdict::apply;
  }
  const std::uint64_t age = from.newest - number;
  if (age >= window || (from.seen >> age & 1) != 0) return verdict::duplicate;
  from.seen |= std::uint64_t{1} << age;
  if (number > from.first) ++counts_.late;
  return verdict::apply;
}

}  // namespace kvc::core
