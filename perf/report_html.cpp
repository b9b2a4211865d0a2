#include "perf/report_html.hpp"

#include <array>
#include <cstdio>
#include <string_view>

namespace kvc::perf {
namespace {

constexpr std::string_view style = R"(
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 900px; margin: 2rem auto; padding: 0 1rem; }
svg { max-width: 100%; height: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
td, th { border: 1px solid #76767655; padding: 2px 8px; text-align: right; }
td:first-child, th:first-child { text-align: left; }
pre { overflow-x: auto; }
figure { margin: 1.5rem 0 2.5rem; }
)";

/// The points of a plot as a table: a row for each x.
std::string table_of(const plot& what) {
  std::string text = "<table><tr><th>" + xml_text(what.x.label) + "</th>";
  for (const plot_series& each : what.series) text += "<th>" + xml_text(each.name) + "</th>";
  text += "</tr>\n";
  const plot_series* longest = nullptr;
  for (const plot_series& each : what.series) {
    if (longest == nullptr || each.points.size() > longest->points.size()) longest = &each;
  }
  for (std::size_t i = 0; longest != nullptr && i < longest->points.size(); ++i) {
    const double x = longest->points[i].first;
    text += "<tr><td>" + (what.categories.empty() ? plot_number(x) : xml_text(what.categories[i])) + "</td>";
    for (const plot_series& each : what.series) {
      std::string cell;
      for (const auto& [at, value] : each.points) {
        if (at == x) cell = plot_number(value);
      }
      text += "<td>" + cell + "</td>";
    }
    text += "</tr>\n";
  }
  return text + "</table>\n";
}

template <class... Values>
std::string line(const char* format, Values... values) {
  std::array<char, 256> text{};
  std::snprintf(text.data(), text.size(), format, values...);
  return text.data();
}

}  // namespace

std::string scale_text(const report_sources& from, const report_plan& plan) {
  const scale_costs costs = costs_of(from.ingest.figures, from.http.figures, from.shapes.figures);
  std::string text = "costs, measured\n";
  text += line("  %8.0f ns    CPU per event block, transport included\n", costs.block_ns);
  text += line("  %8.0f ns    CPU per /query_by_hash of 128 hashes, 64 rows\n", costs.query_ns);
  text += line("  %8.1f B     per (worker, block), nothing shared\n", costs.entry_bytes);
  text += line("  %8.0f KiB   per stream\n", costs.stream_bytes / 1024);
  text += line("  %8.0f ns    CPU per idle stream and second\n\n", costs.stream_idle_ns);
  text += line("a node: %u cores of which half may be used, %u GiB of which four fifths may be\n", plan.cores, plan.memory_gib);
  text += line("an engine: %u blocks held, %u blocks/s stored and removed, %g queries/s\n\n", plan.engine_blocks, plan.engine_events,
               plan.engine_queries);
  text += line("one node carries %llu engines\n\n", static_cast<unsigned long long>(engines_of_one_node(costs, plan)));
  text += "  engines        blocks   nodes   bottleneck               memory  events  queries  workers   (used, of what may be)\n";
  for (const std::uint64_t engines : {100, 1'000, 5'000, 10'000, 50'000, 100'000}) {
    const scale_answer answer = scale_to(engines, costs, plan);
    const auto percent = [&](scale_limit limit) { return 100 * answer.of_node[static_cast<std::size_t>(limit)]; };
    text += line("  %7llu %13llu %7llu   %-22s %7.1f%% %6.1f%% %7.1f%% %7.1f%%\n", static_cast<unsigned long long>(engines),
                 static_cast<unsigned long long>(engines * plan.engine_blocks), static_cast<unsigned long long>(answer.nodes),
                 std::string(to_string(answer.bottleneck)).c_str(), percent(scale_limit::memory), percent(scale_limit::events),
                 percent(scale_limit::queries), percent(scale_limit::streams));
  }
  text += "\nheld against measured points\n";
  const bench_report& shapes = from.shapes.figures;
  if (const auto bytes = shapes.find("check_bytes_per_entry")) {
    text += line("  memory, %.0f entries of %.0f workers: predicted %.1f B per entry, measured %.1f\n",
                 shapes.find("check_entries").value_or(0), shapes.find("check_workers").value_or(0), costs.entry_bytes, *bytes);
  }
  const bench_report& http = from.http.figures;
  const auto share = http.find("beside_cpu_share");
  const auto blocks = http.find("beside_blocks_per_s");
  const auto asked = http.find("beside_achieved_per_s");
  if (share && blocks && asked) {
    text += line("  CPU of one lane, %.0f blocks/s beside %.0f queries/s: predicted %.2f of a core, measured %.2f\n", *blocks, *asked,
                 predicted_cpu(costs, *blocks, *asked), *share);
  }
  return text;
}

std::string report_html(const std::vector<report_plot>& plots, const report_sources& from, const report_plan& plan) {
  std::string page =
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>KV Conductor: measured</title>\n<style>" +
      std::string(style) + "</style>\n</head>\n<body>\n<h1>KV Conductor: measured</h1>\n";
  page += "<p>Written by <code>kv-conductor-bench report</code>. Every plot says where its figures come from and how to have them again.";
  if (!plan.remark.empty()) page += " " + xml_text(plan.remark);
  page += "</p>\n";
  for (const report_plot& each : plots) {
    page += "<figure>\n" + write_svg(each.what) + "<figcaption>" + xml_text(each.about) +
            "</figcaption>\n<details><summary>Figures</summary>\n" + table_of(each.what) + "</details>\n</figure>\n";
  }
  page += "<h2>The scale model</h2>\n<pre>" + xml_text(scale_text(from, plan)) + "</pre>\n";
  return page + "</body>\n</html>\n";
}

}  // namespace kvc::perf
