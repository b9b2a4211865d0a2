#include "core/run_walk.hpp"

namespace kvc::core {

std::size_t local_walk::common_by_digests(const run& in, const run_column& column, std::span<const std::uint64_t> rest,
                                          std::size_t longest) noexcept {
  // A query that leaves the run before its first digest is met often, and one look at the last block of that tells mostly.
  constexpr std::size_t last = blocks_per_digest - 1;
  if (!digests_pay() || column.locals()[last] != rest[last]) return 0;
  // What comes after the comparison, which takes long enough to hide them: the cells, and the mark that a following run is found by.
  bring_near(in.more.load(std::memory_order_acquire));  // null does no harm
  bring_near(column.mark_at(marks_of(static_cast<std::uint32_t>(longest)) - 1));
  return common_digests({column.digests(), longest / blocks_per_digest}, rest) * blocks_per_digest;
}

std::uint32_t sequence_walk::common(const run& in, const run_column& column, std::size_t at) const {
  const auto longest = static_cast<std::uint32_t>(std::min<std::size_t>(column.length.load(std::memory_order_acquire), query_.size() - at));
  if (longest == 0 || query_[at] != in.first_hash) return 0;
  // Equal hashes mean equal prefixes, so whole groups are skipped by their marks and only the last one is rolled through.
  std::uint32_t marks = 0;
  std::uint32_t most = marks_of(longest);
  if (column.marked.load(std::memory_order_acquire) < most) {
    // This writes down all that nobody has asked for yet, but for what others are about to.
    (void)seq_hash_in(column, in.first_hash, blocks_of_marks(most) - 1, seed_);
    most = std::min<std::uint32_t>(most, column.marked.load(std::memory_order_acquire));
  }
  while (marks < most && query_[at + blocks_of_marks(marks + 1) - 1].get() == column.mark(marks)) ++marks;
  seq_hash rolled = marks == 0 ? in.first_hash : seq_hash{column.mark(marks - 1)};
  std::uint32_t length = std::max<std::uint32_t>(blocks_of_marks(marks), 1);
  for (; length < longest; ++length) {
    rolled = roll(rolled, local_hash{column.locals()[length]}, seed_);
    if (query_[at + length] != rolled) break;
  }
  return length;
}

}  // namespace kvc::core
