// What every page of figures begins and ends with.
#pragma once

#include <string>

#include "perf/bench_summary.hpp"

namespace kvc::perf {

/// Title, command, commit and date, machine, and over how many runs. `commit` empty: what git says in the current folder. Asks the system.
[[nodiscard]] std::string page_head(const std::string& title, const std::string& command, const std::string& commit, std::size_t runs);

/// All figures as a block of text. Pure.
[[nodiscard]] std::string page_figures(const bench_summary& measured);

/// A figure for a cell of a table: three digits that matter, `-` when it was not measured. Pure.
[[nodiscard]] std::string page_cell(const bench_summary& measured, const std::string& figure, double scale = 1);

}  // namespace kvc::perf
