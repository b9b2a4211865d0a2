#include "perf/http_run.hpp"

#include <cstdio>
#include <exception>
#include <filesystem>
#include <stdexcept>
#include <vector>

#include "perf/bench_fresh.hpp"
#include "perf/bench_run.hpp"
#include "perf/http_measures.hpp"

namespace kvc::perf {
namespace {

bench_report measure(const http_load_plan& plan, const bench_server::place& where, const ingest_frames& frames, const http_news& tell) {
  if (!stay_on_cpu(static_cast<int>(plan.load_cpu))) throw std::runtime_error("there is no CPU for the load");
  bench_report report;
  measure_http_quiet(plan, where, frames, tell, report);
  const auto rate = report.find("query_by_hash_closed_per_s");
  const bool asks_by_hash = plan.only == nullptr || plan.only->workload == http_workload::by_hash;
  if (plan.beside > 0 && asks_by_hash && !plan.is_closed) {
    tell("query_by_hash beside " + std::to_string(plan.beside) + " blocks/s");
    measure_http_beside(plan, where, frames, plan.rate != 0 ? plan.rate : rate.value() / 2, report);
  }
  if (plan.with_yardstick) add_yardstick(report);
  return report;
}

}  // namespace

boost::system::result<bench_summary, std::string> run_http(const http_load_plan& plan) {
  bench_server::place where{.program = plan.program, .cpu = static_cast<int>(plan.server_cpu)};
  if (where.program.empty()) where.program = std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path() / "kv-conductor";
  const ingest_plan traffic{.trace = plan.trace, .streams = plan.instances, .cache_blocks = plan.cache_blocks, .blocks = plan.blocks};
  std::fprintf(stderr, "http: writing down the events of %u instances\n", plan.instances);
  const auto frames = frames_of_requests(traffic, net::event_form::vllm_map);
  if (!frames) return frames.error();
  std::vector<bench_report> runs;
  for (std::uint32_t run = 1; run <= plan.repeat; ++run) {
    const http_news tell = [&](const std::string& what) {
      std::fprintf(stderr, "http: run %u of %u: %s\n", run, plan.repeat, what.c_str());
    };
    auto measured = measure_fresh([&] { return measure(plan, where, *frames, tell); });
    if (!measured) return measured.error();
    runs.push_back(std::move(*measured));
  }
  return bench_summary(runs);
}

}  // namespace kvc::perf
