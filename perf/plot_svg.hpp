// Plots as SVG text: lines and bars with axes, grid, legend and a note. No dependencies, no script; legible on light and dark ground.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace kvc::perf {

/// One line of a plot, or the bars of one kind.
struct plot_series {
  std::string name;
  std::vector<std::pair<double, double>> points{};  ///< by ascending x; with bars x is the place of the category, from 0
  bool is_dashed = false;                           ///< a reference rather than a measurement
};

struct plot_axis {
  std::string label;  ///< with its unit
  bool is_log = false;
  bool from_zero = true;  ///< a linear axis begins at 0
};

/// A spot that is named.
struct plot_mark {
  double x = 0;
  double y = 0;
  std::string text;
};

struct plot {
  std::string title;
  std::string note{};  ///< machine, commit, command: below the plot, broken where it is too long
  plot_axis x{};
  plot_axis y{};
  std::vector<plot_series> series{};
  std::vector<plot_mark> marks{};
  std::vector<std::string> categories{};  ///< not empty: bars, one group for each
};

/// The plot as an SVG document of 860 pixels' width. Points that are not finite, or not above 0 on a logarithmic axis, are left out. Pure.
[[nodiscard]] std::string write_svg(const plot& what);

/// A number as people write it: 0.25, 12.5, 3,400 as 3.4 k, 1.2 M. Pure.
[[nodiscard]] std::string plot_number(double value);

/// Text with the characters that mean something in XML written as entities. Pure.
[[nodiscard]] std::string xml_text(const std::string& text);

}  // namespace kvc::perf
