// Figures out of the JSON that our programs write.
#pragma once

#include <string>
#include <string_view>

#include <boost/system/result.hpp>

#include "perf/bench_report.hpp"

namespace kvc::perf {

/// The numbers of an object under their names; those of an object inside it as `outer_inner`, but `min` and `max` are left out; true and
/// false are 1 and 0. Texts are not figures. Error: a sentence. Pure.
[[nodiscard]] boost::system::result<bench_report, std::string> read_figures(std::string_view text);

/// A text of the object, empty when there is none of that name. Pure.
[[nodiscard]] std::string read_label(std::string_view text, std::string_view name);

/// The same for a file.
[[nodiscard]] boost::system::result<bench_report, std::string> read_figures_file(const std::string& path);

}  // namespace kvc::perf
