// A run as people read it: the lines of the refreshed picture, the plain line, the summary.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "perf/sim_options.hpp"
#include "perf/sim_tally.hpp"

namespace kvc::sim {

/// Everything a picture shows, at one moment.
struct picture {
  std::string source;         ///< what the requests are
  std::uint64_t planned = 0;  ///< requests to play; 0: not known
  double elapsed_s = 0;
  double events_per_s = 0;                         ///< lately
  double blocks_per_s = 0;                         ///< stored and removed, lately
  double queries_per_s = 0;                        ///< lately
  std::uint64_t held_by_engines = 0;               ///< blocks, copies counted
  std::optional<std::uint64_t> held_by_conductor;  ///< distinct blocks; absent until it has told
  const tally* totals = nullptr;                   ///< never null when rendered
};

/// `1234567` -> `1,234,567`.
[[nodiscard]] std::string grouped(std::uint64_t number);
/// Share in percent with three decimals, never rounded up to 100.
[[nodiscard]] std::string percent(std::uint64_t part, std::uint64_t whole, int decimals);
/// `75` -> `1:15`.
[[nodiscard]] std::string minutes(double seconds);

/// The lines of the refreshed picture, none longer than `width` columns. Pure.
[[nodiscard]] std::vector<std::string> render(const picture& now, const options& chosen, std::size_t width);
/// The same facts in one line, for logs. Pure.
[[nodiscard]] std::string render_line(const picture& now);
/// The summary for people: totals and averages over the whole run. Pure.
[[nodiscard]] std::vector<std::string> render_summary(const picture& at_end, const options& chosen);
/// The summary for programs: one JSON object. Pure.
[[nodiscard]] std::string summary_json(const picture& at_end, const options& chosen, bool succeeded);

}  // namespace kvc::sim
