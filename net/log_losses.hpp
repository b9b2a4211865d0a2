// Log lines that were lost on their way out, for the page of metrics.
#pragma once

#include <cstdint>

namespace kvc::net::log {

/// How many lines the one who writes them out has had to drop since the start. Any lane.
void set_lost_lines(std::uint64_t lines) noexcept;
[[nodiscard]] std::uint64_t lost_lines() noexcept;

}  // namespace kvc::net::log
