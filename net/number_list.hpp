// The whole numbers of a long list in JSON, many at a time: most of a body with a prompt or with chunks consists of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace kvc::net {

/// What has been read of a list, and where the rest of it begins.
struct numbers_read {
  std::size_t count = 0;       ///< numbers written
  const char* rest = nullptr;  ///< behind the last comma that was read
};

/// Room below which reading may stop.
inline constexpr std::size_t least_room_for_numbers = 32;

/// What stands between the numbers of a list: most writers put one blank behind each comma, some none.
enum class list_style : bool { dense, blank_behind_comma };

/// Reads numbers from `at` on, each of one to eight digits, without needless zeros in front, and followed by a comma at once; stops before
/// the first that is anything else (the last of a list always is) or not of the style, a few bytes before `end`, or when fewer than
/// `least_room_for_numbers` places of `room` are left. Whoever calls has a slower way for what is left, and for telling what is wrong with
/// it. Reads no byte at `end` or behind. Pure; any lane.
///
/// Chosen at run time: with AVX-512 VBMI 64 bytes at a step, elsewhere a number at a step without a branch on its length.
[[nodiscard]] numbers_read read_short_numbers(const char* at, const char* end, list_style style, std::span<std::uint64_t> room) noexcept;

/// The same on every machine, for comparison.
[[nodiscard]] numbers_read read_short_numbers_portable(const char* at, const char* end, list_style style,
                                                       std::span<std::uint64_t> room) noexcept;

}  // namespace kvc::net
