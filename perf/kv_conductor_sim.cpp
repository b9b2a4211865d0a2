// The simulator's program: flags in, exit code out.
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "perf/bench_output.hpp"
#include "perf/sim_chaos_run.hpp"
#include "perf/sim_mp_options.hpp"
#include "perf/sim_mp_run.hpp"
#include "perf/sim_options.hpp"
#include "perf/sim_run.hpp"
#include "perf/sim_store_options.hpp"
#include "perf/sim_store_run.hpp"

namespace {

/// Of either parser's result: usage errors and help are told here; everything else is `run`'s.
template <class Parsed, class Run>
int run_parsed(const Parsed& parsed, std::string_view help, Run run) {
  if (!parsed.error.empty()) {
    std::fprintf(stderr, "kv-conductor-sim: %s\n", parsed.error.c_str());
    return 2;
  }
  if (parsed.help) {
    const bool is_written = std::fwrite(help.data(), 1, help.size(), stdout) == help.size() && std::fflush(stdout) == 0;
    return is_written ? 0 : 1;
  }
  // Not only found out when everything has been played.
  if (const std::string& summary = parsed.chosen.json_file; !summary.empty() && !kvc::perf::can_be_written(summary)) {
    std::fprintf(stderr, "kv-conductor-sim: cannot write %s\n", summary.c_str());
    return 1;
  }
  return run(parsed.chosen);
}

}  // namespace

int main(int count, char** words) {
  std::vector<std::string> arguments(words + 1, words + count);
  try {
    if (!arguments.empty() && arguments.front() == "mp") {
      arguments.erase(arguments.begin());
      return run_parsed(kvc::sim::parse_mp_options(arguments), kvc::sim::mp_help_text(), kvc::sim::run_mp_fleet);
    }
    if (!arguments.empty() && arguments.front() == "store") {
      arguments.erase(arguments.begin());
      return run_parsed(kvc::sim::parse_store_options(arguments), kvc::sim::store_help_text(), kvc::sim::run_store);
    }
    return run_parsed(kvc::sim::parse_options(arguments), kvc::sim::help_text(), [](const kvc::sim::options& chosen) {
      return chosen.chaos ? kvc::sim::run_chaos(chosen) : kvc::sim::run_simulation(chosen);
    });
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "kv-conductor-sim: %s\n", failure.what());
    return 1;
  }
}
