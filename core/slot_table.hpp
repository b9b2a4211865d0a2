// Dense numbers for (worker, medium) within one partition: what the coverage of runs and the answers of the index are written in.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/ids.hpp"
#include "core/medium.hpp"

namespace kvc::core {

inline constexpr std::uint32_t max_slots = 1U << 18;  ///< of one partition at once; what a cell of a run has room for
inline constexpr std::uint32_t no_slot = 0xFFFF'FFFF;

/// Who a slot belongs to.
struct slot_owner {
  worker_id worker{};
  medium_id medium{};

  friend bool operator==(slot_owner, slot_owner) = default;
};

/// The slots of one partition.
///
/// Story: a run may be held by thousands of workers, and a query has to look at each of them; numbered densely, their cutoffs lie side by
/// side and sets of them are bitmaps. A slot is taken when a worker begins to hold blocks on a medium and given back when it holds none
/// there; its number is used again only when nobody can still be reading of its old owner.
/// Thread-safety: all members from any lane. `owner` and `end` inside a quiescent scope, without a lock.
class slot_table {
 public:
  slot_table();
  ~slot_table();
  slot_table(const slot_table&) = delete;
  slot_table& operator=(const slot_table&) = delete;

  /// A slot for this worker on this medium; `no_slot` when there are none left.
  [[nodiscard]] std::uint32_t take(worker_id worker, medium_id medium);
  /// Precondition: no cell of the slot is in use any more.
  void give_back(std::uint32_t slot);

  /// The slot is, or was at some time during the scope, in use.
  [[nodiscard]] slot_owner owner(std::uint32_t slot) const noexcept;
  /// Of this table only, as long as the process runs.
  [[nodiscard]] std::uint64_t number() const noexcept;
  /// One past the highest slot ever in use.
  [[nodiscard]] std::uint32_t end() const noexcept;
  /// Media of the slots in use.
  [[nodiscard]] media_mask media() const noexcept;
  /// Slots in use now.
  [[nodiscard]] std::uint32_t used() const noexcept;
  /// Whether a worker that has none yet should ask for a slot: false some time before there are none left, so that lanes which ask at the
  /// same moment all get one. Counts as a refusal when it is.
  [[nodiscard]] bool has_room() const noexcept;
  /// How often there were no slots left.
  [[nodiscard]] std::uint64_t refused() const noexcept;

 private:
  struct state;
  std::shared_ptr<state> state_;  ///< shared with slots that wait for their last reader
};

}  // namespace kvc::core
