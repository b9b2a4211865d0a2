// From a query to the runs it goes through.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/block_hasher.hpp"
#include "core/bring_near.hpp"
#include "core/hash_compare.hpp"
#include "core/run.hpp"
#include "core/run_directory.hpp"
#include "core/run_hint.hpp"

namespace kvc::core {

/// The leading `length` blocks of a run, which a query shares.
struct run_segment {
  const run* in = nullptr;
  std::uint32_t length = 0;
  std::uint32_t cuts = 0;              ///< of the run, before its blocks were compared
  const run_column* column = nullptr;  ///< that they were compared with; the run may have a shorter one by now

  /// Whether the run was cut off since: then its cells may speak of other blocks than those compared.
  [[nodiscard]] bool was_cut() const noexcept {
    // Cells are read by plain loads of whole vectors, which an acquiring load does not keep before itself.
    std::atomic_thread_fence(std::memory_order_acquire);
    return in->cuts.load(std::memory_order_relaxed) != cuts;
  }
};

/// A query by local hashes.
class local_walk {
 public:
  local_walk(std::span<const local_hash> query, std::uint64_t seed) : query_(query), seed_(seed) {}

  [[nodiscard]] std::size_t size() const noexcept { return query_.size(); }
  /// The sequence hash of the first block.
  [[nodiscard]] seq_hash first() const { return first_in_sequence(query_[0]); }
  /// False when certainly no run with the query's block `at` stands behind the last block of `from`.
  [[nodiscard]] bool may_continue(const run_segment& from, std::size_t at) const noexcept {
    return (from.in->child_filter.load(std::memory_order_acquire) & run::filter_bit(from.length - 1, query_[at].get())) != 0 &&
           from.length <= from.in->child_end.load(std::memory_order_acquire);
  }
  /// The sequence hash of the query's block `at`, which stands behind the last block of `from`.
  [[nodiscard]] seq_hash behind(const run_segment& from, std::size_t at) const {
    return roll(seq_hash_in(*from.column, from.in->first_hash, from.length - 1, seed_), query_[at], seed_);
  }
  /// How many blocks of a run, from its first, the query has from `at` on.
  [[nodiscard]] std::uint32_t common(const run& in, const run_column& column, std::size_t at) const noexcept {
    const std::size_t length = column.length.load(std::memory_order_acquire);
    // What follows a divergence is found by rolling from the mark before it; of all but long runs, the marks are one line.
    bring_near(column.marks());
    const std::span rest(reinterpret_cast<const std::uint64_t*>(query_.data()) + at, query_.size() - at);
    const std::size_t longest = std::min(length, rest.size());
    const std::size_t same = longest < least_for_digests ? 0 : common_by_digests(in, column, rest, longest);
    return static_cast<std::uint32_t>(same + common_prefix(column.locals() + same, rest.data() + same, longest - same));
  }
  /// The sequence hash of block `at`; to be asked for every block in order, from 0.
  [[nodiscard]] seq_hash next(std::size_t at) {
    rolled_ = at == 0 ? first() : roll(rolled_, query_[at], seed_);
    return rolled_;
  }

 private:
  static constexpr std::size_t least_for_digests = 2 * blocks_per_digest;  ///< of fewer blocks the digests save no time

  /// The blocks from the first on that are common, in whole digests; none where digests do not pay. `rest` is what is left of the query, of
  /// which at most `longest` blocks are in the column.
  [[nodiscard]] static std::size_t common_by_digests(const run& in, const run_column& column, std::span<const std::uint64_t> rest,
                                                     std::size_t longest) noexcept;

  std::span<const local_hash> query_;
  std::uint64_t seed_;
  seq_hash rolled_{};
};

/// A query by sequence hashes.
class sequence_walk {
 public:
  sequence_walk(std::span<const seq_hash> query, std::uint64_t seed) : query_(query), seed_(seed) {}

  [[nodiscard]] std::size_t size() const noexcept { return query_.size(); }
  [[nodiscard]] seq_hash first() const { return query_[0]; }
  [[nodiscard]] bool may_continue(const run_segment&, std::size_t) const noexcept { return true; }
  [[nodiscard]] seq_hash behind(const run_segment&, std::size_t at) const { return query_[at]; }
  [[nodiscard]] std::uint32_t common(const run& in, const run_column& column, std::size_t at) const;
  [[nodiscard]] seq_hash next(std::size_t at) const { return query_[at]; }

 private:
  std::span<const seq_hash> query_;
  std::uint64_t seed_;
};

/// The run that starts with `first`, if it is the one that the query's block `at` starts, behind `from` (null run: at the root). False when
/// there is none.
template <class Walk>
[[nodiscard]] bool find_segment(const run_directory& directory, const Walk& query, const run_segment& from, std::size_t at, seq_hash first,
                                run_segment& found) {
  const run* next = directory.find(first);
  if (next == nullptr || next->parent != from.in || (from.in != nullptr && next->parent_offset != from.length - 1)) return false;
  const std::uint32_t cuts = next->cuts.load(std::memory_order_acquire);
  const run_column* const column = next->column.load(std::memory_order_acquire);  // after the count, see run_store::try_cut
  found = {next, query.common(*next, *column, at), cuts, column};
  return found.length != 0;
}

/// The same where `first` is not known yet.
template <class Walk>
[[nodiscard]] bool next_segment(const run_directory& directory, const Walk& query, const run_segment& from, std::size_t at,
                                run_segment& found) {
  if (from.in != nullptr) {
    if (!query.may_continue(from, at)) return false;
    approach_heir(*from.in);
  }
  return find_segment(directory, query, from, at, from.in == nullptr ? query.first() : query.behind(from, at), found);
}

}  // namespace kvc::core
