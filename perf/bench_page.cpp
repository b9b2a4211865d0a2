#include "perf/bench_page.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>

#include "perf/bench_bars.hpp"

namespace kvc::perf {
namespace {

/// Three digits that count, with commas between thousands.
std::string shown(double value) {
  if (value < 100 && std::floor(value) != value) {
    const double unit = std::pow(10, std::floor(std::log10(std::max(value, 0.001))) - 2);
    std::string text = bench_number(std::round(value / unit) * unit);
    while (text.find('.') != std::string::npos && (text.ends_with('0') || text.ends_with('.'))) {
      const bool is_point = text.ends_with('.');
      text.pop_back();
      if (is_point) break;
    }
    return text;
  }
  std::string text = bench_number(std::round(value));
  for (std::size_t at = text.size(); at > 3;) {
    at -= 3;
    if (at > 0 && text[at - 1] != '-') text.insert(at, ",");
  }
  return text;
}

std::string shown(const bench_spread& spread, double scale) {
  return shown(spread.median * scale) + " (" + shown(spread.least * scale) + " .. " + shown(spread.greatest * scale) + ')';
}

std::string upper(std::string_view text) {
  std::string out(text);
  for (char& each : out) {
    if (each >= 'a' && each <= 'z') each = static_cast<char>(each - 'a' + 'A');
  }
  return out;
}

const bench_result* find_result(const std::vector<bench_result>& results, std::string_view file, std::string_view mode,
                                bench_design design) {
  const auto found = std::ranges::find_if(
      results, [&](const bench_result& each) { return each.file == file && each.mode == mode && each.design == design; });
  return found == results.end() ? nullptr : &*found;
}

std::string bar_line(const std::vector<bench_result>& results, const bench_bar& bar) {
  std::string line = "| " + std::string(bar.measure) + " | ";
  const bench_result* result = find_result(results, bar.file, bar.mode, bench_design::runs);
  const bench_spread* spread = result == nullptr ? nullptr : result->summary.find(bar.figure);
  const std::string limits = shown(bar.bar) + ' ' + std::string(bar.unit) + " | " + shown(bar.goal) + " | ";
  if (spread == nullptr) return line + "not measured | " + limits + "- |\n";
  const double value = spread->median * bar.scale;
  const std::string verdict = reaches(bar, value, bar.goal) ? "goal met" : reaches(bar, value, bar.bar) ? "met" : "**not met**";
  return line + shown(*spread, bar.scale) + " | " + limits + verdict + " |\n";
}

/// Whether the answers are those of the strict model, in words.
std::string judge(const bench_result& result) {
  const auto standard = std::ranges::find(bench_standards(), result.file, &bench_standard::file);
  const bench_spread* pairs = result.summary.find("pairs");
  const bench_spread* sum = result.summary.find("depth_sum");
  if (standard == bench_standards().end() || pairs == nullptr || sum == nullptr) return "-";
  if (pairs->least != pairs->greatest || sum->least != sum->greatest) return "**differ from run to run**";
  const auto off = [](double value, std::uint64_t right) {
    const double more = value - static_cast<double>(right);
    return (more < 0 ? "-" : "+") + shown(std::abs(more));
  };
  if (pairs->median == static_cast<double>(standard->pairs) && sum->median == static_cast<double>(standard->depth_sum)) return "exact";
  return "**pairs " + off(pairs->median, standard->pairs) + ", depths " + off(sum->median, standard->depth_sum) + "**";
}

std::string replay_lines(const std::vector<bench_result>& results, bench_design design) {
  std::string text;
  for (const bench_result& result : results) {
    if (result.mode != "sequential" || result.design != design || !result.fault.empty()) continue;
    const auto cell = [&](std::string_view name) {
      const auto median = result.summary.median(name);
      return median ? shown(*median) : std::string("-");
    };
    text += "| " + upper(result.file) + " | " + cell("pairs") + ", " + cell("depth_sum") + ": " + judge(result) + " | " +
            cell("event_ns_per_block") + " (" + cell("store_ns_per_block") + ", " + cell("remove_ns_per_block") + ") | " +
            cell("event_touches") + " | " + cell("query_ns_mean") + " | " + cell("query_ns_p50") + ", " + cell("query_ns_p99") + ", " +
            cell("query_ns_p999") + " | " + cell("query_mean_misses") + " | " + cell("bytes_per_entry") + " | " + cell("cpu_share") +
            " |\n";
  }
  if (text.empty()) return text;
  return "| file | pairs, sum of depths | event ns/block (store, removal) | in touch | query ns, mean | p50, p99, p999 | mean in miss | "
         "bytes per "
         "entry | CPU share |\n|---|---|---|---|---|---|---|---|---|\n" +
         text;
}

std::string reference_lines(const std::vector<bench_result>& results) {
  std::string text;
  for (const std::string_view figure :
       {"deep_hot_ns_mean", "deep_cold_ns_mean", "ragged_ns_mean", "ragged_grown_ns_mean", "whole_ns_mean"}) {
    const std::string_view mode = figure.starts_with("deep") ? "deep" : "ragged";
    const bench_result* ours = find_result(results, "", mode, bench_design::runs);
    const bench_result* theirs = find_result(results, "", mode, bench_design::positional);
    if (ours == nullptr || theirs == nullptr) continue;
    const auto left = ours->summary.median(figure);
    const auto right = theirs->summary.median(figure);
    if (!left || !right || *left <= 0) continue;
    text += "| " + std::string(figure) + " | " + shown(*left) + " | " + shown(*right) + " | " + shown(*right / *left) + " x |\n";
  }
  return text.empty() ? text : "\n| shape | runs | positional | |\n|---|---|---|---|\n" + text;
}

/// Replays whose thread had to share its CPU in the median run; empty when there were none.
std::string disturbed_line(const std::vector<bench_result>& results) {
  constexpr double quiet_share = 0.95;
  std::string text;
  for (const bench_result& result : results) {
    const auto share = result.summary.median("cpu_share");
    if (!share || *share >= quiet_share) continue;
    text += (text.empty() ? "" : ", ") + upper(result.file) + ' ' + std::string(to_string(result.design)) + " (" + shown(*share) + ')';
  }
  if (text.empty()) return text;
  return "**Disturbed**: other work took CPU time from these replays, by their CPU share, so that no time on this page is to be trusted: " +
         text + ".\n\n";
}

/// A figure's least and greatest over all results, `scale` times; empty where nobody has it.
std::string range_of(const std::vector<bench_result>& results, std::string_view name, double scale) {
  double least = HUGE_VAL;
  double greatest = 0;
  for (const bench_result& result : results) {
    const bench_spread* spread = result.summary.find(name);
    if (spread == nullptr) continue;
    least = std::min(least, spread->least);
    greatest = std::max(greatest, spread->greatest);
  }
  return least == HUGE_VAL ? "" : shown(scale * least) + " .. " + shown(scale * greatest);
}

/// What the host of a virtual machine took; empty where that is not known.
std::string stolen_line(const std::vector<bench_result>& results) {
  const std::string range = range_of(results, "stolen_share", 100);
  return range.empty() ? range : "Taken by the host meanwhile, of all CPU time of a run: " + range + " %.\n\n";
}

std::string yardstick_line(const std::vector<bench_result>& results) {
  std::string text;
  for (const std::string_view name : {"touch32", "touch512", "miss", "compare", "compare_cold"}) {
    const std::string range = range_of(results, name, 1);
    if (!range.empty()) text += (text.empty() ? "" : "; ") + std::string(name) + ' ' + range + " ns";
  }
  return text;
}

}  // namespace

std::string write_page(const std::vector<bench_result>& results, const bench_machine& machine, const std::string& command) {
  std::string page =
      "# The index: figures and bars\n\nCommand: `" + command + "`, commit " + machine.commit + ", " + machine.date + ".\n\n";
  page += "Machine: " + machine.cpu + ", " + std::to_string(machine.cores) + " cores, frequency governor " + machine.governor +
          ", transparent huge pages " + machine.huge_pages + "; " + machine.build + ".\n\n";
  page += "Yardstick, over all runs: " + yardstick_line(results) + ". `touch` is touch512. Ratios are taken within each run.\n\n";
  page += stolen_line(results);
  page += disturbed_line(results);
  page += "Medians of all runs, with the least and the greatest.\n\n| measure | figure | bar | goal | |\n|---|---|---|---|---|\n";
  for (const bench_bar& bar : bench_bars()) page += bar_line(results, bar);
  const std::string ours = replay_lines(results, bench_design::runs);
  if (!ours.empty()) page += "\n## Workloads\n\n" + ours;
  const std::string theirs = replay_lines(results, bench_design::positional) + reference_lines(results);
  if (!theirs.empty()) page += "\n## The published positional design with jump search, on the same files\n\n" + theirs;
  std::string faults;
  for (const bench_result& result : results) {
    if (result.fault.empty()) continue;
    faults += "* " + (result.file.empty() ? std::string() : upper(result.file) + ", ") + result.mode + ", " +
              std::string(to_string(result.design)) + ": " + result.fault + '\n';
  }
  if (!faults.empty()) page += "\n## Not measured\n\n" + faults;
  return page;
}

}  // namespace kvc::perf
