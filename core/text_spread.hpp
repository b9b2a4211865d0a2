// Texts that outsiders choose, spread so that none of them can tell which fall together in a table.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/block_hasher.hpp"
#include "core/spread.hpp"

namespace kvc::core {

/// The digest of a text that depends on the secret, as `spread` does for one number: equal texts have equal ones until the process ends,
/// so that it may stand in tables and nowhere else: in no answer, dump or file. Pure but for the secret; any lane.
[[nodiscard]] inline std::uint64_t spread(std::string_view text) {
  return digest(std::as_bytes(std::span(text)), spread_secret());
}

/// The same for several numbers, each of which outsiders may choose: sums and exclusive ors of numbers that are spread one by one can be
/// made alike where some are known.
template <std::size_t Count>
[[nodiscard]] std::uint64_t spread(const std::array<std::uint64_t, Count>& numbers) {
  return digest(std::as_bytes(std::span(numbers)), spread_secret());
}

/// For the tables of libraries, whose own hash of a text has no secret.
struct text_spread {
  using is_transparent = void;  ///< whatever is a text can be looked for
  using is_avalanching = void;  ///< see number_spread
  [[nodiscard]] std::size_t operator()(std::string_view text) const { return static_cast<std::size_t>(spread(text)); }
};

}  // namespace kvc::core
