// What two messages are compared by where it is asked whether they are the same batch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace kvc::core {

/// The digest of a short payload (up to `longest_whole` bytes); of a longer one that of its length, its first and last `end_bytes`, and
/// `sample_bytes` of every `sample_step` between them. For the life of the process only. Pure; any lane.
///
/// Why not of all: two payloads with one number are compared to know whether a publisher repeats itself or is another incarnation, and
/// another incarnation's batch has another time, which stands at one end of it wherever a dialect has one. Where times are of no use (a
/// publisher that says 0), names tell: an engine's are chained, so that another token changes every name behind it. To read all of a long
/// payload once more, when it had left the nearest cache, was 5 % of a saturated lane's time (`perf/results/ingest.md`). What is not told
/// apart: payloads of one length and the same times that differ between the samples only.
[[nodiscard]] std::uint64_t batch_digest(std::span<const std::byte> payload) noexcept;

/// For `batch_digest`.
struct batch_sampling {
  static constexpr std::size_t longest_whole = 2'048;  ///< bytes
  static constexpr std::size_t end_bytes = 256;        ///< of either end
  static constexpr std::size_t sample_bytes = 32;      ///< three names
  static constexpr std::size_t sample_step = 512;
};

}  // namespace kvc::core
