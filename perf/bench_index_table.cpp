#include "perf/bench_index_table.hpp"

#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

#include "perf/bench_bars.hpp"
#include "perf/bench_run.hpp"

namespace kvc::perf {
namespace {

class table_run {
 public:
  explicit table_run(const table_plan& plan) : plan_(plan) {}

  void measure(std::string_view name, std::string_view mode, bench_design design) {
    bench_job job;
    job.mode = find_bench_mode(mode);
    job.file = file_.get();
    job.setup.design = design;
    job.reserve_mib = plan_.reserve_mib;
    std::fprintf(stderr, "%s%s%s (%s)\n", std::string(name).c_str(), name.empty() ? "" : ": ", std::string(mode).c_str(),
                 std::string(to_string(design)).c_str());
    auto summary = run_repeated(job, plan_.repeat, plan_.most_stolen);
    if (summary) {
      results_.push_back({std::string(name), std::string(mode), design, std::move(*summary), {}});
    } else {
      note(name, mode, design, summary.error());
    }
  }

  void measure_file(std::string_view name) {
    const std::string path = plan_.folder + '/' + std::string(name) + ".kvwl";
    auto opened = bench_workload::open(path);
    if (!opened) return note(name, "sequential", bench_design::runs, path + ": " + opened.error());
    file_ = std::make_unique<bench_workload>(std::move(*opened));
    measure(name, "sequential", bench_design::runs);
    if (name == "m1") {
      for (const std::string_view mode : {"saturation", "lanes", "memory"}) measure(name, mode, bench_design::runs);
    }
    if (plan_.with_reference && (name == "m1" || name == "s64")) measure(name, "sequential", bench_design::positional);
    file_.reset();
  }

  std::vector<bench_result> take() { return std::move(results_); }

 private:
  void note(std::string_view name, std::string_view mode, bench_design design, const std::string& fault) {
    std::fprintf(stderr, "not measured: %s\n", fault.c_str());
    results_.push_back({std::string(name), std::string(mode), design, bench_summary({}), fault});
  }

  const table_plan& plan_;
  std::unique_ptr<bench_workload> file_;
  std::vector<bench_result> results_;
};

}  // namespace

std::vector<bench_result> measure_everything(const table_plan& plan) {
  table_run run(plan);
  for (const bench_standard& each : bench_standards()) run.measure_file(each.file);
  for (const bench_mode& mode : bench_modes()) {
    if (mode.shape == nullptr) continue;
    run.measure({}, mode.name, bench_design::runs);
    if (plan.with_reference && mode.drives_any_design) run.measure({}, mode.name, bench_design::positional);
  }
  return run.take();
}

}  // namespace kvc::perf
