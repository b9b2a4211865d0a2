// Gives out the dense numbers of workers, from any lane.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <optional>

#include "core/ids.hpp"

namespace kvc::core {

/// The next number is always a new one; see worker_id. Thread-safety: any lane.
class worker_numbers {
 public:
  /// None when all have been given out.
  [[nodiscard]] std::optional<worker_id> next() noexcept {
    std::uint32_t now = next_.load(std::memory_order_relaxed);
    do {
      if (now == std::numeric_limits<std::uint32_t>::max()) return std::nullopt;
    } while (!next_.compare_exchange_weak(now, now + 1, std::memory_order_relaxed));
    return worker_id{now};
  }

 private:
  std::atomic<std::uint32_t> next_{0};
};

}  // namespace kvc::core
