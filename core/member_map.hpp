// The members of a partition by instance and by worker, prepared once for all queries.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/ids.hpp"
#include "core/page_allocator.hpp"

namespace kvc::core {

struct member;

/// Which members make up an instance, and which member a worker is. Immutable once made, so any lane may ask.
class member_map {
 public:
  /// Members that stand for one instance, next to each other in the list that the map was made of.
  struct instance {
    std::uint32_t first = 0;
    std::uint32_t last = 0;   ///< one past
    bool has_engine = false;  ///< false: pools only
  };
  /// A worker's place in that list.
  struct seat {
    worker_id worker{};
    std::uint32_t member = 0;
    std::uint32_t instance = 0;  ///< index into `instances()`
  };

  member_map() = default;
  /// Precondition: sorted by instance.
  explicit member_map(std::span<const member> members);

  /// By ascending name.
  [[nodiscard]] std::span<const instance> instances() const noexcept { return instances_; }
  /// Members in all.
  [[nodiscard]] std::size_t size() const noexcept { return members_; }
  /// Null for a worker that is no member. One cache line, as a rule.
  [[nodiscard]] const seat* find(worker_id worker) const noexcept;

 private:
  static constexpr std::uint32_t nobody = 0xFFFF'FFFF;

  std::vector<instance, page_allocator<instance>> instances_;
  std::vector<seat, page_allocator<seat>>
      table_;  ///< open addressing, a power of two, at most half full; free where the member is `nobody`
  std::size_t members_ = 0;
  unsigned shift_ = 0;  ///< from a 64-bit product to the table
};

}  // namespace kvc::core
