#include "perf/bench_report.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <numeric>

namespace kvc::perf {
namespace {

std::string number(double value) {
  std::array<char, 64> text{};
  const bool is_whole = std::floor(value) == value && std::abs(value) < 1e15;
  const int length = std::snprintf(text.data(), text.size(), is_whole ? "%.0f" : "%.3f", value);
  return std::string(text.data(), static_cast<std::size_t>(length));
}

}  // namespace

void bench_report::add_latencies(const std::string& name, std::vector<std::uint32_t>& samples) {
  if (samples.empty()) return;
  std::ranges::sort(samples);
  const auto at = [&](double share) {
    return static_cast<double>(samples[static_cast<std::size_t>(share * static_cast<double>(samples.size() - 1))]);
  };
  add(name + "_mean", std::accumulate(samples.begin(), samples.end(), 0.0) / static_cast<double>(samples.size()));
  add(name + "_p50", at(0.5));
  add(name + "_p99", at(0.99));
  add(name + "_p999", at(0.999));
  add(name + "_max", static_cast<double>(samples.back()));
}

std::string bench_report::table() const {
  std::size_t width = 0;
  for (const auto& [name, value] : figures_) width = std::max(width, name.size());
  std::string text;
  for (const auto& [name, value] : figures_) text += name + std::string(width + 2 - name.size(), ' ') + number(value) + '\n';
  return text;
}

std::string bench_report::json(const std::string& mode, const std::string& file) const {
  std::string quoted;
  for (const char each : file) {
    if (each == '"' || each == '\\') quoted += '\\';
    quoted += each;
  }
  std::string text = "{\"mode\":\"" + mode + "\",\"file\":\"" + quoted + '"';
  for (const auto& [name, value] : figures_) text += ",\"" + name + "\":" + number(value);
  return text + "}\n";
}

}  // namespace kvc::perf
