// From figures to the plots of the report.
#pragma once

#include <string>
#include <vector>

#include "perf/bench_report.hpp"
#include "perf/plot_svg.hpp"
#include "perf/report_plan.hpp"
#include "perf/report_scale.hpp"

namespace kvc::perf {

/// Figures with where they come from.
struct report_source {
  bench_report figures;
  std::string note;  ///< machine, commit, command
};

struct report_sources {
  report_source ingest;
  report_source http;
  report_source e2e;
  report_source shapes;
};

/// A plot and the name of its file without ending.
struct report_plot {
  std::string name;
  plot what;
  std::string about;  ///< what is to be seen, for the page
};

/// All plots for which there are figures. Pure.
[[nodiscard]] std::vector<report_plot> make_plots(const report_sources& from, const report_plan& plan);

/// The offered rate beyond which less than 98 % is achieved, as a spot of the throughput plot; its x is 0 when there is none. Pure.
[[nodiscard]] plot_mark saturation_of(const plot_series& achieved);

}  // namespace kvc::perf
