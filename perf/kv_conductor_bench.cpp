// kv-conductor-bench: measures the index on workload files and on shapes of its own, makes such files, and measures the
// event intake, the fleet coordinator and probes for objects of stores.
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "perf/bench_coordinator.hpp"
#include "perf/bench_coordinator_http.hpp"
#include "perf/bench_exist.hpp"
#include "perf/bench_fresh.hpp"
#include "perf/bench_index_table.hpp"
#include "perf/bench_maker.hpp"
#include "perf/bench_options.hpp"
#include "perf/bench_run.hpp"
#include "perf/ingest_run.hpp"

namespace {

using namespace kvc::perf;

/// Exit codes: 0 done, 1 it could not be done, 2 wrong usage.
int fail(const std::string& reason) {
  std::fprintf(stderr, "kv-conductor-bench: %s\n", reason.c_str());
  return 1;
}

int print(const std::string& text) {
  const bool is_written = std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0;
  return is_written ? 0 : fail("cannot write to standard output");
}

int run_index(const index_plan& plan) {
  bench_job job{.mode = plan.mode, .file = nullptr, .setup = plan.setup, .with_yardstick = plan.with_yardstick};
  std::optional<bench_workload> file;
  if (!plan.file.empty()) {
    auto opened = bench_workload::open(plan.file);
    if (!opened) return fail(plan.file + ": " + opened.error());
    file.emplace(std::move(*opened));
    job.file = &*file;
  }
  const auto summary = run_repeated(job, plan.repeat);
  if (!summary) return fail(summary.error());
  if (!plan.as_json) return print(summary->table());
  return print(
      summary->json({{"mode", std::string(plan.mode->name)}, {"design", std::string(to_string(plan.setup.design))}, {"file", plan.file}}));
}

int run_index_table(const table_plan& plan) {
  // Opened first, so that half an hour is not measured for nothing.
  std::ofstream file;
  if (!plan.out.empty()) {
    file.open(plan.out);
    if (!file) return fail("cannot write " + plan.out);
  }
  bench_machine machine = describe_machine();
  if (!plan.commit.empty()) machine.commit = plan.commit;
  const std::string command =
      "kv-conductor-bench index-table DIR --repeat " + std::to_string(plan.repeat) + (plan.with_reference ? "" : " --no-reference");
  const std::string page = write_page(measure_everything(plan), machine, command);
  if (plan.out.empty()) return print(page);
  file << page << std::flush;
  return file ? 0 : fail("cannot write " + plan.out);
}

int run_intake(const ingest_plan& plan, const std::string& command) {
  std::ofstream file;
  if (!plan.out.empty()) {
    file.open(plan.out);
    if (!file) return fail("cannot write " + plan.out);
  }
  const auto summary = run_ingest(plan);
  if (!summary) return fail(summary.error());
  if (!plan.out.empty() && !(file << ingest_page(*summary, plan, command) << std::flush)) return fail("cannot write " + plan.out);
  const std::string dialect = plan.dialect == nullptr ? "all" : std::string(plan.dialect->name);
  if (plan.as_json) return print(summary->json({{"mode", "ingest"}, {"dialect", dialect}, {"trace", plan.trace}}));
  return print(summary->table() + ingest_verdicts(*summary));
}

std::string server_of_this_build() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path() / "kv-conductor";
}

/// The figures of one run, over HTTP or not.
bench_report measure_coordinator(const coordinator_plan& plan) {
  using table_mode = void (*)(bench_report&);
  using http_mode = void (*)(const bench_server::place&, bench_report&);
  struct mode {
    std::string_view name;
    table_mode tables;
    http_mode http;
  };
  constexpr std::array modes{
      mode{"registry", &run_coordinator_registry, &run_http_registry}, mode{"usage", &run_coordinator_usage, &run_http_usage},
      mode{"eviction", &run_coordinator_eviction, &run_http_eviction}, mode{"blend", &run_coordinator_blend, &run_http_blend}};
  bench_server::place where{.program = plan.program, .cpu = static_cast<int>(plan.server_cpu)};
  if (where.program.empty()) where.program = server_of_this_build();
  if (plan.over_http && !stay_on_cpu(static_cast<int>(plan.load_cpu))) throw std::runtime_error("there is no CPU for the load");
  bench_report report;
  for (const mode& each : modes) {
    if (plan.mode != "all" && plan.mode != each.name) continue;
    if (plan.over_http) {
      each.http(where, report);
    } else {
      each.tables(report);
    }
  }
  if (plan.with_yardstick) add_yardstick(report);
  return report;
}

int run_coordinator(const coordinator_plan& plan) {
  std::vector<bench_report> runs;
  for (std::uint32_t run = 1; run <= plan.repeat; ++run) {
    if (plan.repeat > 1) std::fprintf(stderr, "coordinator: run %u of %u\n", run, plan.repeat);
    // In a process of its own, so that none finds the allocator of the one before.
    auto measured = measure_fresh([&plan] { return measure_coordinator(plan); });
    if (!measured) return fail(measured.error());
    runs.push_back(std::move(*measured));
  }
  const bench_summary summary(runs);
  const std::string label = std::string(plan.over_http ? "coordinator-http-" : "coordinator-") + plan.mode;
  return print(plan.as_json ? summary.json({{"mode", label}}) : summary.table());
}

/// The figures of one run.
bench_report measure_exist(const exist_plan& plan) {
  bench_report report;
  const auto wants = [&](std::string_view mode) { return plan.mode == "all" || plan.mode == mode; };
  if (wants("memory")) run_exist_memory(plan.objects, report);
  if (plan.mode != "memory") {
    bench_server::place where{.program = plan.program, .cpu = static_cast<int>(plan.server_cpu)};
    if (where.program.empty()) where.program = server_of_this_build();
    if (!stay_on_cpu(static_cast<int>(plan.load_cpu))) throw std::runtime_error("there is no CPU for the load");
    const exist_load load{.objects = plan.stored, .probes = plan.probes};
    if (wants("rate")) run_exist_rate(where, load, report);
    if (wants("prefetch")) run_exist_prefetch(where, load, report);
  }
  if (plan.with_yardstick) add_yardstick(report);
  return report;
}

int run_exist(const exist_plan& plan) {
  std::vector<bench_report> runs;
  for (std::uint32_t run = 1; run <= plan.repeat; ++run) {
    if (plan.repeat > 1) std::fprintf(stderr, "exist: run %u of %u\n", run, plan.repeat);
    auto measured = measure_fresh([&plan] { return measure_exist(plan); });
    if (!measured) return fail(measured.error());
    runs.push_back(std::move(*measured));
  }
  const bench_summary summary(runs);
  return print(plan.as_json ? summary.json({{"mode", "exist-" + plan.mode}}) : summary.table());
}

int run_make(const maker_plan& plan) {
  const auto made = make_workload(plan);
  if (!made) return fail(made.error());
  const auto line = [](const char* name, std::uint64_t value) { return std::string(name) + std::to_string(value) + '\n'; };
  return print(line("operations      ", made->counts.operations) + line("queries         ", made->counts.queries) +
               line("queried blocks  ", made->counts.queried_blocks) + line("  cached        ", made->hit_blocks) +
               line("stored blocks   ", made->counts.stored_blocks) + line("removed blocks  ", made->counts.removed_blocks));
}

/// The command as somebody else could give it: files by their names alone.
std::string spoken(char** words, int count) {
  std::string command = "kv-conductor-bench";
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    const std::size_t slash = word.rfind('/');
    command += ' ' + (slash == std::string::npos ? word : word.substr(slash + 1));
  }
  return command;
}

}  // namespace

int main(int count, char** words) {
  const bench_options options = parse_bench_options(std::vector<std::string>(words + 1, words + count));
  if (!options.error.empty()) {
    const std::string reason = options.error + "; --help teaches the rest";
    std::fprintf(stderr, "kv-conductor-bench: %s\n", reason.c_str());
    return 2;
  }
  switch (options.command) {
    case bench_command::index:
      return run_index(options.index);
    case bench_command::index_table:
      return run_index_table(options.table);
    case bench_command::ingest:
      return run_intake(options.ingest, spoken(words, count));
    case bench_command::coordinator:
      return run_coordinator(options.coordinator);
    case bench_command::exist:
      return run_exist(options.exist);
    case bench_command::make:
      return run_make(options.make);
    case bench_command::help:
      break;
  }
  return print(options.help);
}
