// The report as one self-contained page.
#pragma once

#include <string>
#include <vector>

#include "perf/report_plots.hpp"

namespace kvc::perf {

/// A page of HTML with the plots inside it, their figures as tables, and the scale model. No script, nothing from elsewhere. Pure.
[[nodiscard]] std::string report_html(const std::vector<report_plot>& plots, const report_sources& from, const report_plan& plan);

/// The scale model as lines of text: costs, what one node carries, nodes for fleets up to 100,000 engines, and the measured points it is
/// held against. Pure.
[[nodiscard]] std::string scale_text(const report_sources& from, const report_plan& plan);

}  // namespace kvc::perf
