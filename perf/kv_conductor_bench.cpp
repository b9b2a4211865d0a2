// kv-conductor-bench: measures the index on workload files and on shapes of its own, and the fleet coordinator's tables.
#include <cstdio>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "perf/bench_coordinator.hpp"
#include "perf/bench_modes.hpp"
#include "perf/bench_yardstick.hpp"

namespace {

constexpr const char* usage =
    "Usage: kv-conductor-bench index [FILE.kvwl] [--mode MODE] [--json] [--no-yardstick]\n"
    "Modes that replay a file: sequential (default), saturation, memory, lanes\n"
    "Modes that need no file:  deep, ragged, fork, holes, wide, sharing\n"
    "       kv-conductor-bench coordinator [--mode MODE] [--json] [--no-yardstick]\n"
    "Modes: all (default), registry, usage, eviction, blend\n"
    "Times are nanoseconds. touch512 and miss are constants of this machine, measured in the same run.\n";

int refuse(const std::string& reason) {
  std::fprintf(stderr, "kv-conductor-bench: %s\n%s", reason.c_str(), usage);
  return 2;
}

void print(const kvc::perf::bench_report& report, bool as_json, const std::string& mode, const std::string& file) {
  const std::string text = as_json ? report.json(mode, file) : report.table();
  std::fputs(text.c_str(), stdout);
}

void add_yardstick(kvc::perf::bench_report& report) {
  const kvc::perf::bench_yardstick machine = kvc::perf::measure_yardstick();
  report.add("touch512", machine.touch512);
  report.add("miss", machine.miss);
}

int measure_coordinator(const std::vector<std::string_view>& arguments) {
  using namespace kvc::perf;
  std::string mode = "all";
  bool as_json = false;
  bool with_yardstick = true;
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    if (arguments[i] == "--json") {
      as_json = true;
    } else if (arguments[i] == "--no-yardstick") {
      with_yardstick = false;
    } else if (arguments[i] == "--mode" && i + 1 < arguments.size()) {
      mode = arguments[++i];
    } else {
      return refuse("unexpected word: " + std::string(arguments[i]));
    }
  }
  const std::map<std::string, std::function<void(bench_report&)>> modes{{"registry", run_coordinator_registry},
                                                                        {"usage", run_coordinator_usage},
                                                                        {"eviction", run_coordinator_eviction},
                                                                        {"blend", run_coordinator_blend}};
  if (mode != "all" && !modes.contains(mode)) return refuse("unknown mode: " + mode);
  bench_report report;
  for (const auto& [name, run] : modes) {
    if (mode == "all" || mode == name) run(report);
  }
  if (with_yardstick) add_yardstick(report);
  print(report, as_json, "coordinator-" + mode, "");
  return 0;
}

}  // namespace

int main(int count, char** words) {
  using namespace kvc::perf;
  const std::vector<std::string_view> arguments(words + 1, words + count);
  if (!arguments.empty() && arguments[0] == "--help") return std::fputs(usage, stdout) < 0;
  if (!arguments.empty() && arguments[0] == "coordinator") return measure_coordinator(arguments);
  if (arguments.empty() || arguments[0] != "index") return refuse("the first word must be `index` or `coordinator`");
  std::string mode = "sequential";
  std::string file;
  bool as_json = false;
  bool with_yardstick = true;
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    if (arguments[i] == "--json") {
      as_json = true;
    } else if (arguments[i] == "--no-yardstick") {
      with_yardstick = false;
    } else if (arguments[i] == "--mode" && i + 1 < arguments.size()) {
      mode = arguments[++i];
    } else if (arguments[i].starts_with("-") || !file.empty()) {
      return refuse("unexpected word: " + std::string(arguments[i]));
    } else {
      file = arguments[i];
    }
  }
  const std::map<std::string, std::function<void(const bench_workload&, bench_report&)>> replays{
      {"sequential", run_sequential}, {"memory", run_memory}, {"saturation", run_saturation}, {"lanes", run_lanes}};
  const std::map<std::string, std::function<void(bench_report&)>> shapes{{"deep", run_deep},   {"ragged", run_ragged}, {"fork", run_fork},
                                                                         {"holes", run_holes}, {"wide", run_wide},     {"sharing", run_sharing}};
  bench_report report;
  if (const auto replay = replays.find(mode); replay != replays.end()) {
    if (file.empty()) return refuse("mode " + mode + " needs a workload file");
    auto opened = bench_workload::open(file);
    if (!opened) return refuse(file + ": " + opened.error().message());
    report.add("workers", opened->workers());
    replay->second(*opened, report);
  } else if (const auto shape = shapes.find(mode); shape != shapes.end()) {
    shape->second(report);
  } else {
    return refuse("unknown mode: " + mode);
  }
  if (with_yardstick) add_yardstick(report);
  print(report, as_json, mode, file);
  return 0;
}
