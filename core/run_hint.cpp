#include "core/run_hint.hpp"

#include <algorithm>

namespace kvc::core {
namespace {

/// Lines of 64 bytes between the beginnings of two things.
std::int64_t lines_between(const void* from, const void* to) noexcept {
  const auto number = [](const void* address) { return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(address) / 64); };
  return number(to) - number(from);
}

}  // namespace

column_hint column_hint::of(const run& whose) noexcept {
  const run_column* const column = whose.column.load(std::memory_order_acquire);
  if (column == nullptr) return {};
  const std::int64_t lines_behind = lines_between(&whose, column);
  constexpr std::int64_t farthest = std::int64_t{1} << (31 - length_bits);
  if (lines_behind < -farthest || lines_behind >= farthest) return {};
  const std::size_t lines = (sizeof(run_column) + column->capacity * sizeof(std::uint64_t)) / unit + 1;
  const std::size_t steps = lines <= first_lines ? 0 : (lines - first_lines + lines_per_step - 1) / lines_per_step;
  return column_hint(static_cast<std::uint32_t>(lines_behind) << length_bits |
                     static_cast<std::uint32_t>(std::min<std::size_t>(steps, most_steps)));
}

heir_hint heir_hint::of(const run& parent, const run& child) noexcept {
  const std::int64_t lines_behind = lines_between(&parent, &child);
  if (lines_behind != static_cast<std::int32_t>(lines_behind)) return {};
  return heir_hint(static_cast<std::uint64_t>(static_cast<std::uint32_t>(lines_behind)) << distance_shift | column_hint::of(child).bits());
}

bool heir_hint::is_of(const run& parent, const run& child) const noexcept {
  return !is_nothing() && static_cast<std::int32_t>(bits_ >> distance_shift) == lines_between(&parent, &child);
}

}  // namespace kvc::core
