// Batches of one stream that are applied in one piece.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "core/event.hpp"
#include "net/live_burst.hpp"

namespace kvc::net {

/// Decoded batches, in the order in which they are to be applied. Owner: one stream at work; between two uses the lane keeps it (see
/// spare_pool), and what its batches have taken with it.
struct batch_row {
  std::array<core::event_batch, live_burst::most_messages> all;
  std::size_t count = 0;

  [[nodiscard]] bool is_full() const noexcept { return count == all.size(); }
  [[nodiscard]] std::span<const core::event_batch> batches() const noexcept { return std::span(all).first(count); }
};

}  // namespace kvc::net
