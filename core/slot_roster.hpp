// Which slots are of one worker, as one thread has found out.
#pragma once

#include <cstdint>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

#include "core/slot_table.hpp"

namespace kvc::core {

/// Small numbers for the workers of a partition, found by slot.
///
/// Story: whoever follows workers through a query meets them slot by slot, a worker once per medium, and queries meet the same slots again
/// and again. What a slot meant the last time holds as long as the table names the same owner, so that only slots that have changed hands
/// are looked up. Numbers are from 1, so that arrays can be as long as there are workers; they hold until `tidy` forgets them. Belongs to
/// one thread.
class slot_roster {
 public:
  /// What is known of a table may be kept from query to query; of another table nothing is. Forgets everything once most of it is about
  /// workers that are gone. To be called before each query, inside the quiescent scope.
  void tidy(const slot_table& slots);

  /// The worker's number. `owner`: of the slot, as the table has just told; `slot` is below the table's end as it was in `tidy`.
  [[nodiscard]] std::uint32_t number(std::uint32_t slot, slot_owner owner) {
    entry& at = known_[slot];
    if (at.number == 0 || at.worker != owner.worker) at = {owner.worker, number_of(owner.worker)};
    return at.number;
  }
  [[nodiscard]] std::uint32_t number_of(worker_id worker) {
    return numbers_.try_emplace(worker.get(), static_cast<std::uint32_t>(numbers_.size() + 1)).first->second;
  }
  /// Slots that `number` may be asked for.
  [[nodiscard]] std::uint32_t slots() const noexcept { return static_cast<std::uint32_t>(known_.size()); }
  /// Numbers given out.
  [[nodiscard]] std::uint32_t workers() const noexcept { return static_cast<std::uint32_t>(numbers_.size()); }

 private:
  struct entry {
    worker_id worker{};
    std::uint32_t number = 0;  ///< 0: not known
  };

  std::uint64_t table_ = 0;
  std::vector<entry> known_;  ///< by slot
  boost::unordered_flat_map<std::uint32_t, std::uint32_t> numbers_;
};

}  // namespace kvc::core
