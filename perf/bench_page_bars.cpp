#include "perf/bench_page_bars.hpp"

namespace kvc::perf {
namespace {

/// A difference below nothing says that the machine was busy with something else, not that a bar is met.
std::string_view verdict(const page_bar& of, double value) {
  if (value < 0) return "unclear";
  return (of.is_least ? value >= of.limit : value <= of.limit) ? "met" : "MISSED";
}

std::string shown(const page_bar& of, double value) {
  return bench_number(value / of.scale) + std::string(of.unit);
}

std::string limit_of(const page_bar& of) {
  return (of.is_least ? ">= " : "<= ") + shown(of, of.limit);
}

}  // namespace

std::string bar_verdicts(std::span<const page_bar> bars, const bench_summary& measured) {
  std::string text;
  for (const page_bar& each : bars) {
    const auto value = measured.median(each.figure);
    if (!value) continue;
    std::string word(verdict(each, *value));
    word.resize(9, ' ');
    text += word + std::string(each.what) + ": " + shown(each, *value) + " (bar " + limit_of(each) + ")\n";
  }
  return text;
}

std::string bar_table(std::span<const page_bar> bars, const bench_summary& measured) {
  std::string text = "| measure | figure | bar | |\n|---|---|---|---|\n";
  for (const page_bar& each : bars) {
    const bench_spread* const found = measured.find(each.figure);
    if (found == nullptr) continue;
    const std::string_view word = verdict(each, found->median);
    text += "| " + std::string(each.what) + " | " + shown(each, found->median) + " (" + bench_number(found->least / each.scale) + " .. " +
            bench_number(found->greatest / each.scale) + ") | " + limit_of(each) + " | " +
            (word == "MISSED" ? "**missed**" : std::string(word)) + " |\n";
  }
  return text;
}

}  // namespace kvc::perf
