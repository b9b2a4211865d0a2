// `kv-conductor-bench report`: measures or reads what is needed and writes the page.
#pragma once

#include <string>

#include <boost/system/result.hpp>

#include "perf/report_plan.hpp"

namespace kvc::perf {

/// Writes `report.html` and a `report-NAME.svg` for every plot into the plan's folder, which it makes if need be, and returns the scale
/// model as text. With `only_scale` nothing is written. `command` is what is told as where the figures come from. Progress goes to standard
/// error; no other thread may be running. Error: a sentence.
[[nodiscard]] boost::system::result<std::string, std::string> run_report(const report_plan& plan, const std::string& command);

}  // namespace kvc::perf
