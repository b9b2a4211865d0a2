// Batches of one stream that are applied in one piece.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "core/event.hpp"
#include "net/live_burst.hpp"
#include "net/spare_lists.hpp"

namespace kvc::net {

/// Decoded batches, in the order in which they are to be applied. Owner: one stream at work; between two uses the lane keeps it (see
/// spare_pool), and what its batches have taken with it, up to `most_kept_events` each: a batch may have 262,144.
struct batch_row {
  static constexpr std::size_t most_kept_events = 256;

  std::array<core::event_batch, live_burst::most_messages> all;
  std::size_t count = 0;

  [[nodiscard]] bool is_full() const noexcept { return count == all.size(); }
  [[nodiscard]] std::span<const core::event_batch> batches() const noexcept { return std::span(all).first(count); }
  /// Ends all of them.
  void clear(spare_lists& lists) {
    for (std::size_t i = 0; i < count; ++i) {
      std::vector<core::event>& events = all[i].events;
      lists.take_back(events);
      if (events.capacity() > most_kept_events) events = std::vector<core::event>();
    }
    count = 0;
  }
};

}  // namespace kvc::net
