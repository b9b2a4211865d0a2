#include "perf/bench_summary.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "core/utf8.hpp"

namespace kvc::perf {
namespace {

double middle(const std::vector<double>& sorted) {
  const std::size_t half = sorted.size() / 2;
  return sorted.size() % 2 != 0 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

/// The text as a JSON string. Not `quoted`, which std::string arguments would find in std.
std::string json_text(std::string_view text) {
  std::string out = "\"";
  for (const char each : core::repaired_utf8(text)) {  // the name of a file may be anything
    if (static_cast<unsigned char>(each) < 0x20) {
      std::array<char, 8> escaped{};
      std::snprintf(escaped.data(), escaped.size(), "\\u%04x", static_cast<unsigned>(each));
      out += escaped.data();
      continue;
    }
    if (each == '"' || each == '\\') out += '\\';
    out += each;
  }
  return out + '"';
}

}  // namespace

std::string bench_number(double value) {
  // JSON has no infinities; a ratio to something that was not measurable is as good as none.
  if (!std::isfinite(value)) return "0";
  std::array<char, 64> text{};
  const bool is_whole = std::floor(value) == value && std::abs(value) < 1e15;
  const int length = std::snprintf(text.data(), text.size(), is_whole ? "%.0f" : "%.3f", value);
  return std::string(text.data(), static_cast<std::size_t>(std::clamp(length, 0, 63)));
}

bench_summary::bench_summary(const std::vector<bench_report>& runs) : runs_(runs.size()) {
  if (runs.empty()) return;
  for (const bench_figure& figure : runs.front().figures()) {
    std::vector<double> values;
    for (const bench_report& run : runs) {
      if (const auto value = run.find(figure.name)) values.push_back(*value);
    }
    std::ranges::sort(values);
    spreads_.push_back({figure.name, middle(values), values.front(), values.back()});
  }
}

const bench_spread* bench_summary::find(std::string_view name) const noexcept {
  const auto found = std::ranges::find(spreads_, name, &bench_spread::name);
  return found == spreads_.end() ? nullptr : &*found;
}

std::optional<double> bench_summary::median(std::string_view name) const noexcept {
  const bench_spread* found = find(name);
  if (found == nullptr) return std::nullopt;
  return found->median;
}

std::string bench_summary::table() const {
  std::size_t width = 0;
  std::size_t number_width = 0;
  for (const bench_spread& each : spreads_) {
    width = std::max(width, each.name.size());
    number_width = std::max(number_width, bench_number(each.median).size());
  }
  std::string text;
  for (const bench_spread& each : spreads_) {
    const std::string median = bench_number(each.median);
    text += each.name + std::string(width + 2 + number_width - each.name.size() - median.size(), ' ') + median;
    if (runs_ > 1) text += "  (" + bench_number(each.least) + " .. " + bench_number(each.greatest) + ')';
    text += '\n';
  }
  return text;
}

std::string bench_summary::json(const std::vector<std::pair<std::string, std::string>>& labels) const {
  std::string text = "{";
  for (const auto& [name, value] : labels) text += json_text(name) + ':' + json_text(value) + ',';
  text += "\"repeat\":" + std::to_string(runs_);
  for (const bench_spread& each : spreads_) text += ',' + json_text(each.name) + ':' + bench_number(each.median);
  for (const bool least : {true, false}) {
    text += least ? ",\"min\":{" : ",\"max\":{";
    for (std::size_t i = 0; i < spreads_.size(); ++i) {
      text += (i == 0 ? "" : ",") + json_text(spreads_[i].name) + ':' + bench_number(least ? spreads_[i].least : spreads_[i].greatest);
    }
    text += '}';
  }
  return text + "}\n";
}

}  // namespace kvc::perf
