#include "perf/sim_picture.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace kvc::sim {
namespace {

std::string rate(double per_second) {
  return grouped(static_cast<std::uint64_t>(std::llround(per_second))) + " /s";
}

std::string milliseconds(std::uint64_t microseconds) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.2f ms", static_cast<double>(microseconds) / 1000);
  return text;
}

std::string fixed(double value, int decimals) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.*f", decimals, value);
  return text;
}

std::string plural(std::uint64_t count, std::string_view one) {
  return grouped(count) + " " + std::string(one) + (count == 1 ? "" : "s");
}

double share_done(const picture& now) {
  return now.planned == 0 ? 0 : std::min(1.0, static_cast<double>(now.totals->requests) / static_cast<double>(now.planned));
}

std::string progress(const picture& now) {
  std::string line = grouped(now.totals->requests);
  if (now.planned == 0) return line + " requests  " + minutes(now.elapsed_s) + " elapsed";
  line += " of " + plural(now.planned, "request") + "  " + percent(now.totals->requests, now.planned, 1) + "  " + minutes(now.elapsed_s);
  const double done = share_done(now);
  if (done > 0.005 && done < 1) line += ", " + minutes(now.elapsed_s * (1 - done) / done) + " left";
  return line;
}

std::string fleet_words(const options& chosen) {
  return plural(chosen.engines, "engine") + " x " + plural(chosen.ranks, "rank") + ", " + grouped(chosen.cache_blocks) + " blocks of " +
         plural(chosen.block_size, "token") + " each";
}

std::string latency_words(const tally& totals) {
  return "p50 " + milliseconds(totals.latency_us.at(0.5)) + "  p99 " + milliseconds(totals.latency_us.at(0.99)) +
         (totals.failed_queries > 0 ? "  FAILED " + grouped(totals.failed_queries) : "");
}

std::string saved_words(const tally& totals, const options& chosen) {
  std::string line = std::string(to_string(chosen.routing)) + " " + grouped(totals.saved_tokens) + " tokens (" +
                     percent(totals.saved_tokens, totals.prompt_tokens, 1) + " of prompts)   random " +
                     grouped(totals.saved_tokens_random) + " (" + percent(totals.saved_tokens_random, totals.prompt_tokens, 1) + ")";
  if (totals.saved_tokens_random > 0) {
    line += "   x" + fixed(static_cast<double>(totals.saved_tokens) / static_cast<double>(totals.saved_tokens_random), 2);
  }
  return line;
}

std::string agreement_words(const tally& totals) {
  return percent(totals.exact_answers, totals.answers, 3) + " of " + plural(totals.answers, "answer") + " exact   " +
         plural(totals.differences, "difference");
}

std::string staleness_words(const tally& totals) {
  return "blocks mean " + fixed(totals.stale_blocks.mean(), 3) + " p99 " + grouped(totals.stale_blocks.at(0.99)) + "   batches mean " +
         fixed(totals.stale_batches.mean(), 2) + " p99 " + grouped(totals.stale_batches.at(0.99));
}

std::string held_words(const picture& now) {
  return "conductor " + (now.held_by_conductor ? grouped(*now.held_by_conductor) + " distinct kept" : std::string("?")) + "   engines " +
         grouped(now.held_by_engines) + " with copies";
}

}  // namespace

std::string grouped(std::uint64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t at = text.size(); at > 3; at -= 3) text.insert(at - 3, ",");
  return text;
}

std::string percent(std::uint64_t part, std::uint64_t whole, int decimals) {
  if (whole == 0) return "-";
  const double scale = std::pow(10.0, decimals);
  // Rounded down: 100 % must mean all of them.
  const double value = std::floor(static_cast<double>(part) / static_cast<double>(whole) * 100 * scale) / scale;
  return fixed(part == whole ? 100 : std::min(value, 100 - 1 / scale), decimals) + " %";
}

std::string minutes(double seconds) {
  const auto whole = static_cast<std::uint64_t>(std::max(0.0, std::round(seconds)));
  const std::string rest = std::to_string(whole % 60);
  return std::to_string(whole / 60) + ":" + (rest.size() < 2 ? "0" : "") + rest;
}

std::vector<std::string> render(const picture& now, const options& chosen, std::size_t width) {
  const tally& totals = *now.totals;
  std::vector<std::string> lines;
  lines.push_back(now.source + "   " + fleet_words(chosen) + (chosen.strict ? "   strict" : ""));
  const std::string text = progress(now);
  const std::size_t room = width > text.size() + 8 ? std::min<std::size_t>(width - text.size() - 8, 40) : 0;
  if (room >= 8 && now.planned > 0) {
    const auto filled = static_cast<std::size_t>(share_done(now) * static_cast<double>(room));
    lines.push_back("[" + std::string(filled, '#') + std::string(room - filled, '.') + "]  " + text);
  } else {
    lines.push_back(text);
  }
  lines.push_back("events     " + rate(now.events_per_s) + "   blocks " + rate(now.blocks_per_s) + "   total " + grouped(totals.events) +
                  " events, " + grouped(totals.stored_blocks) + " stored, " + grouped(totals.removed_blocks) + " evicted");
  lines.push_back("held       " + held_words(now));
  lines.push_back("queries    " + rate(now.queries_per_s) + "   " + latency_words(totals));
  lines.push_back("saved      " + saved_words(totals, chosen));
  lines.push_back("agreement  " + agreement_words(totals));
  if (!chosen.strict) lines.push_back("staleness  " + staleness_words(totals));
  for (auto& line : lines) {
    if (line.size() > width) line.resize(width);
  }
  return lines;
}

std::string render_line(const picture& now) {
  const tally& totals = *now.totals;
  return progress(now) + " | events " + rate(now.events_per_s) + ", blocks " + rate(now.blocks_per_s) + " | held " +
         (now.held_by_conductor ? grouped(*now.held_by_conductor) : "?") + " | queries " + rate(now.queries_per_s) + ", " +
         latency_words(totals) + " | saved " + percent(totals.saved_tokens, totals.prompt_tokens, 1) + ", random " +
         percent(totals.saved_tokens_random, totals.prompt_tokens, 1) + " | exact " + percent(totals.exact_answers, totals.answers, 3);
}

std::vector<std::string> render_summary(const picture& at_end, const options& chosen) {
  const tally& totals = *at_end.totals;
  const double seconds = std::max(at_end.elapsed_s, 1e-9);
  const auto mean_rate = [seconds](std::uint64_t count) { return rate(static_cast<double>(count) / seconds); };
  std::vector<std::string> lines;
  lines.push_back("requests   " + grouped(totals.requests) + " in " + fixed(at_end.elapsed_s, 1) + " s   " + at_end.source);
  lines.push_back("fleet      " + fleet_words(chosen) + "   routing " + std::string(to_string(chosen.routing)));
  lines.push_back("events     " + grouped(totals.events) + " in " + grouped(totals.batches) + " batches   " + mean_rate(totals.events) +
                  "   blocks " + grouped(totals.stored_blocks) + " stored, " + grouped(totals.removed_blocks) + " evicted   " +
                  mean_rate(totals.stored_blocks + totals.removed_blocks));
  lines.push_back("held       " + held_words(at_end));
  lines.push_back("queries    " + grouped(totals.queries) + "   " + mean_rate(totals.queries) + "   " + latency_words(totals) + "  max " +
                  milliseconds(totals.latency_us.largest()));
  lines.push_back("saved      " + saved_words(totals, chosen));
  lines.push_back("agreement  " + agreement_words(totals));
  if (!chosen.strict) lines.push_back("staleness  " + staleness_words(totals));
  return lines;
}

}  // namespace kvc::sim
