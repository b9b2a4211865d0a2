// The words publishers use for where a block lies, folded to few tiers and to dense numbers.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

namespace kvc::core {

/// How far away a block lies. Wire documents call these G1, G2, G3; everything else is external.
enum class tier : std::uint8_t { device, host, disk, external };

/// Dense number of a medium: 0 gpu, 1 cpu, 2 disk, then whatever else the fleet has reported, up to `max_media`.
enum class medium_id : std::uint8_t { gpu = 0, cpu = 1, disk = 2 };

inline constexpr std::size_t max_media = 16;

/// A set of media, bit i for medium i.
using media_mask = std::uint16_t;
inline constexpr media_mask all_media = 0xFFFF;

[[nodiscard]] constexpr media_mask mask_of(medium_id medium) noexcept {
  return static_cast<media_mask>(1U << static_cast<unsigned>(medium));
}

/// The fleet's media: wire words to dense numbers and back.
///
/// Known spellings are folded, case-insensitively (kv-events.md section 10, case 20): GPU, `cuda:0`, HBM, NPU -> gpu; CPU, CPU_PINNED,
/// CPU_TIER1, DRAM, MEMORY, host -> cpu; DISK, SSD, STORAGE, FS, 3FS, DFS, NFS, LOCAL_DISK -> disk. Any other word becomes a medium of its
/// own, in the tier `external`, under its upper-case spelling of at most 32 bytes. EXTERNAL, OBJ, MIXED (of pools) and OTHER always find a
/// place among the `max_media`; another word for which none is left is OTHER, and so is `dp`, as the row of an answer has the key DP.
///
/// Thread-safety: all members may be called from any lane. Look-ups of known words take no lock.
class medium_table {
 public:
  medium_table();

  /// The number for a wire word, learned when it is new. Never fails.
  [[nodiscard]] medium_id intern(std::string_view word);

  /// The number for a wire word, without learning it. False when the word has never been seen.
  [[nodiscard]] bool find(std::string_view word, medium_id& found) const;

  /// Upper-case name for answers: `GPU`, `CPU`, `DISK`, or the word itself. The view lives as long as the table.
  [[nodiscard]] std::string_view name(medium_id medium) const noexcept;

  /// How many media are known; those are the numbers 0 .. size()-1.
  [[nodiscard]] std::size_t size() const noexcept { return size_.load(std::memory_order_acquire); }

  /// Whether a wire word, which stands for `medium`, is one that publishers are known to use. Others are media all the same.
  [[nodiscard]] static bool is_known_word(medium_id medium, std::string_view word) noexcept;

  [[nodiscard]] static tier tier_of(medium_id medium) noexcept;

 private:
  std::array<std::string, max_media> names_;
  std::atomic<std::size_t> size_{0};
  std::mutex learning_;
};

}  // namespace kvc::core
