#include "perf/bench_page_head.hpp"

#include <array>
#include <cmath>
#include <cstdio>

#include "perf/bench_machine.hpp"

namespace kvc::perf {

std::string page_head(const std::string& title, const std::string& command, const std::string& commit, std::size_t runs) {
  const bench_machine machine = describe_machine();
  std::string page =
      "# " + title + "\n\nCommand: `" + command + "`, commit " + (commit.empty() ? machine.commit : commit) + ", " + machine.date + ".\n\n";
  page += "Machine: " + machine.cpu + ", " + std::to_string(machine.cores) + " cores, transparent huge pages " + machine.huge_pages + "; " +
          machine.build + ".\n\n";
  return page + (runs > 1 ? "Medians of " + std::to_string(runs) + " runs.\n\n" : "One run.\n\n");
}

std::string page_figures(const bench_summary& measured) {
  return "\n## All figures\n\n```\n" + measured.table() + "```\n";
}

std::string page_cell(const bench_summary& measured, const std::string& figure, double scale) {
  const auto value = measured.median(figure);
  if (!value) return "-";
  const double shown = *value / scale;
  const int digits = std::abs(shown) >= 100 ? 0 : std::abs(shown) >= 10 ? 1 : 2;
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.*f", digits, shown);
  return text.data();
}

}  // namespace kvc::perf
