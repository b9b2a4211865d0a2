// What figures of the whole server are to reach, and how a page says whether they do.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "perf/bench_summary.hpp"

namespace kvc::perf {

/// One figure that is to be reached, or not to be exceeded.
struct page_bar {
  std::string_view figure;
  std::string_view what;  ///< for people
  double limit = 0;       ///< in the figure's unit
  bool is_least = false;  ///< the limit is to be reached, else not to be exceeded
  double scale = 1;       ///< the figure is shown divided by this
  std::string_view unit;
};

/// A line for each bar whose figure was measured: met, MISSED, or unclear. Pure.
[[nodiscard]] std::string bar_verdicts(std::span<const page_bar> bars, const bench_summary& measured);

/// The same as a table of Markdown, with the least and the greatest. Pure.
[[nodiscard]] std::string bar_table(std::span<const page_bar> bars, const bench_summary& measured);

}  // namespace kvc::perf
