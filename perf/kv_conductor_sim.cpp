// The simulator's program: flags in, exit code out.
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "perf/sim_chaos_run.hpp"
#include "perf/sim_options.hpp"
#include "perf/sim_run.hpp"

int main(int count, char** words) {
  const std::vector<std::string> arguments(words + 1, words + count);
  const auto parsed = kvc::sim::parse_options(arguments);
  if (!parsed.error.empty()) {
    std::fprintf(stderr, "kv-conductor-sim: %s\n", parsed.error.c_str());
    return 2;
  }
  if (parsed.help) {
    const auto text = kvc::sim::help_text();
    std::fwrite(text.data(), 1, text.size(), stdout);
    return 0;
  }
  try {
    return parsed.chosen.chaos ? kvc::sim::run_chaos(parsed.chosen) : kvc::sim::run_simulation(parsed.chosen);
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "kv-conductor-sim: %s\n", failure.what());
    return 1;
  }
}
