// Log lines that were lost on their way out, for the page of metrics.
#pragma once

#include <cstdint>
#include <functional>

namespace kvc::net::log {

/// From now on `lines` is asked, from any lane, how many lines the one who writes them out has had to drop since the start. Empty: it is
/// asked for the last time, and that is the number from then on.
void count_lost_lines(std::function<std::uint64_t()> lines);
/// The number at this moment, also while nobody takes any lines. Any lane.
[[nodiscard]] std::uint64_t lost_lines();

}  // namespace kvc::net::log
