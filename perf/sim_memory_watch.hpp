// Whether a process that has run for a while goes on growing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace kvc::sim {

/// Resident memory of a process in bytes, as the kernel tells it (/proc/PID/statm); nothing when there is no such process.
[[nodiscard]] std::optional<std::uint64_t> resident_bytes(std::uint32_t process);

/// Samples of a process's memory, and what they say.
///
/// The first half is the time to get warm: tables and the allocator's stocks grow to what the load needs. Flat means that the median of the
/// last quarter is at most `allowed_growth` and `allowed_bytes` above that of the quarter before it. Owner: one.
class memory_watch {
 public:
  static constexpr double allowed_growth = 0.05;
  static constexpr std::uint64_t allowed_bytes = 4U << 20;  ///< besides: what a single allocation of a table may take
  static constexpr std::size_t least_samples = 16;          ///< fewer say nothing

  void add(std::uint64_t bytes) { samples_.push_back(bytes); }

  struct verdict {
    std::uint64_t before = 0;  ///< median of the third quarter
    std::uint64_t after = 0;   ///< median of the last one
    bool is_flat = true;
  };
  /// Nothing: there are too few samples. Pure.
  [[nodiscard]] std::optional<verdict> judge() const;

 private:
  std::vector<std::uint64_t> samples_;
};

}  // namespace kvc::sim
