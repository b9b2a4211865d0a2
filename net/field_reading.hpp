// Values of a body as numbers and texts, with the liberties the coordinator's clients are used to.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string_view>

#include "net/field_faults.hpp"

namespace kvc::net {

/// Each takes a present value and answers nothing after it has told `faults` what is wrong. (Source: spec coordinator-api, section 2.)
/// Pure.

/// Texts only: a number is a fault.
[[nodiscard]] std::optional<std::string_view> read_text(const tape_value& value, const field_place& where, field_faults& faults);

struct whole_range {
  std::int64_t least = std::numeric_limits<std::int64_t>::min();
  std::int64_t most = std::numeric_limits<std::int64_t>::max();
};

/// Also a number without a fraction that is written with one, a text that spells a number, and true and false. Numbers beyond 64 bits are
/// as the nearest that has 63, unless `most` is lower, which they are above. Infinite ones are none.
[[nodiscard]] std::optional<std::int64_t> read_whole(const tape_value& value, const field_place& where, field_faults& faults,
                                                     whole_range within = {});

/// Also whole numbers, texts that spell a number, true and false. Infinite ones and NaN pass.
[[nodiscard]] std::optional<double> read_real(const tape_value& value, const field_place& where, field_faults& faults);

/// Null is a fault as well.
[[nodiscard]] bool check_list(const tape_value& value, const field_place& where, field_faults& faults);
[[nodiscard]] bool check_object(const tape_value& value, const field_place& where, field_faults& faults);

/// The member, or nothing and a fault when it is absent.
[[nodiscard]] std::optional<tape_value> require_member(const tape_value& object, std::string_view name, const field_place& where,
                                                       field_faults& faults);

/// A word out of a few. `expected` tells them as in `'a', 'b' or 'c'`. Answers its place among `words`.
[[nodiscard]] std::optional<std::size_t> read_word(const tape_value& value, std::span<const std::string_view> words,
                                                   std::string_view expected, const field_place& where, field_faults& faults);

/// A text without the blanks around it. (Those of Python's str.strip that ASCII has.)
[[nodiscard]] std::string_view stripped(std::string_view text) noexcept;

}  // namespace kvc::net
