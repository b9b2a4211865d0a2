// What a stream that speaks for several ranks holds for each of them, readable from any lane.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "core/ids.hpp"
#include "core/medium.hpp"
#include "core/published.hpp"

namespace kvc::core {

/// Blocks of one rank, per medium. Written by the stream's lane with relaxed stores, read from anywhere.
struct rank_share {
  explicit rank_share(dp_rank whose) : rank(whose) {}

  dp_rank rank;
  std::array<std::atomic<std::uint64_t>, max_media> blocks{};
};

/// The ranks of a stream beyond the one it is registered for, in the order in which they were first heard of. Bounded by
/// event_applier::max_owners. Thread-safety: `add` and `clear` on the stream's lane only, `list` from anywhere.
class rank_shares {
 public:
  using list_type = std::vector<std::shared_ptr<rank_share>>;

  /// The share of this rank; made when there is none.
  std::shared_ptr<rank_share> add(dp_rank whose) {
    const auto known = list_.get();
    for (const auto& each : *known) {
      if (each->rank == whose) return each;
    }
    auto next = std::make_shared<list_type>(*known);
    next->push_back(std::make_shared<rank_share>(whose));
    auto made = next->back();
    list_.publish(std::move(next));
    return made;
  }

  /// The stream speaks for no further rank any more.
  void clear() {
    if (!list_.get()->empty()) list_.publish(std::make_shared<list_type>());
  }

  [[nodiscard]] std::shared_ptr<const list_type> list() const { return list_.get(); }

 private:
  published<list_type> list_;
};

}  // namespace kvc::core
