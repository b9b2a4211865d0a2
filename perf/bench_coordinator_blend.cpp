#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/blend_query.hpp"
#include "core/blend_table.hpp"
#include "perf/bench_clock.hpp"
#include "perf/bench_coordinator.hpp"
#include "perf/bench_memory.hpp"

namespace kvc::perf {
namespace {

constexpr std::size_t chunk_tokens = 256;
constexpr std::size_t chunks = 1'000'000;
constexpr std::size_t per_range = 32;
constexpr std::size_t prompt_tokens = 131'072;
const std::string scope = "meta-llama/Llama-3.1-70B-Instruct";

/// CPU time of this thread since `start`.
double seconds_since(std::uint64_t start) {
  return static_cast<double>(bench_cpu_ns() - start) / 1e9;
}

/// The tokens of published range `number`: the same each time they are asked for.
std::vector<std::uint32_t> range_tokens(std::size_t number, std::size_t count) {
  std::mt19937_64 random(number + 1'000);
  std::vector<std::uint32_t> tokens(count);
  for (auto& each : tokens) each = static_cast<std::uint32_t>(random() % 128'256);
  return tokens;
}

std::string made_up_key(std::mt19937_64& random) {
  std::string key;
  for (int i = 0; i < 64; ++i) key.push_back("0123456789abcdef"[random() % 16]);
  return key;
}

/// Best and longest slice of several queries of one prompt, in microseconds.
void time_query(core::blend_table& table, const std::vector<std::uint32_t>& tokens, const std::string& name, bench_report& report) {
  constexpr int repeats = 15;
  constexpr std::size_t slice = 16'384;
  std::vector<double> whole;
  double longest = 0;
  std::size_t found = 0;
  for (int i = 0; i < repeats; ++i) {
    core::blend_query query(table, scope);
    double sum = 0;
    bool is_done = false;
    while (!is_done) {
      const std::uint64_t start = bench_cpu_ns();
      is_done = query.advance(table, std::span(tokens), slice);
      const double took = seconds_since(start);
      sum += took;
      longest = std::max(longest, took);
    }
    whole.push_back(sum);
    found = query.matches().size();
  }
  std::ranges::sort(whole);
  report.add(name + "_found", static_cast<double>(found));
  report.add(name + "_best_us", whole.front() * 1e6);
  report.add(name + "_median_us", whole[whole.size() / 2] * 1e6);
  report.add(name + "_longest_slice_us", longest * 1e6);
}

}  // namespace

void run_coordinator_blend(bench_report& report) {
  std::mt19937_64 random(31);
  const std::size_t before = anonymous_bytes();
  core::blend_table table({.chunk_tokens = chunk_tokens, .seed = 7});
  double took = 0;
  for (std::size_t range = 0; range < chunks / per_range; ++range) {
    const auto tokens = range_tokens(range, chunk_tokens * per_range);
    std::vector<std::string> keys;
    for (std::size_t i = 0; i < per_range; ++i) keys.push_back(made_up_key(random));
    const std::vector<std::string_view> views(keys.begin(), keys.end());
    const std::uint64_t start = bench_cpu_ns();
    (void)table.publish(scope, std::span<const std::uint32_t>(tokens), views, 0);
    took += seconds_since(start);
  }
  report.add("blend_chunks", static_cast<double>(table.size()));
  report.add("blend_publish_chunks_per_s", std::floor(static_cast<double>(table.size()) / took));
  report.add("blend_bytes_per_chunk_resident", static_cast<double>(anonymous_bytes() - before) / static_cast<double>(table.size()));
  report.add("blend_bytes_per_chunk_counted", static_cast<double>(table.memory_bytes()) / static_cast<double>(table.size()));
  time_query(table, range_tokens(9'999'999, prompt_tokens), "blend_131k_miss", report);
  // Half of the prompt is published chunks, each at an offset that is no multiple of their length.
  std::vector<std::uint32_t> mixed;
  for (std::size_t i = 0; mixed.size() + 2 * chunk_tokens + 1 <= prompt_tokens; ++i) {
    const auto known = range_tokens(i * 97 % (chunks / per_range), chunk_tokens * per_range);
    const auto other = range_tokens(10'000'000 + i, chunk_tokens + 1);
    const auto part = static_cast<std::ptrdiff_t>(i % per_range * chunk_tokens);
    mixed.insert(mixed.end(), other.begin(), other.end());
    mixed.insert(mixed.end(), known.begin() + part, known.begin() + part + static_cast<std::ptrdiff_t>(chunk_tokens));
  }
  time_query(table, mixed, "blend_131k_half", report);
}

}  // namespace kvc::perf
