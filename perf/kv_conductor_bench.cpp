// kv-conductor-bench: measures the service and its parts, makes workload files, and reports; one command for each.
#include <array>
#include <charconv>
#include <cstdio>
#include <exception>
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
#include "perf/bench_output.hpp"
#include "perf/bench_run.hpp"
#include "perf/bench_summary.hpp"
#include "perf/e2e_run.hpp"
#include "perf/http_run.hpp"
#include "perf/ingest_run.hpp"
#include "perf/micro_run.hpp"
#include "perf/report_run.hpp"

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

bool write_file(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  return static_cast<bool>(file << text << std::flush);
}

int run_index(const index_plan& plan) {
  bench_job job{
      .mode = plan.mode, .file = nullptr, .setup = plan.setup, .with_yardstick = plan.with_yardstick, .reserve_mib = plan.reserve_mib};
  std::optional<bench_workload> file;
  if (!plan.file.empty()) {
    auto opened = bench_workload::open(plan.file);
    if (!opened) return fail(plan.file + ": " + opened.error());
    file.emplace(std::move(*opened));
    job.file = &*file;
  }
  // A single run is made here, where profilers and debuggers see it.
  const bool is_run_here = plan.repeat <= 1 && plan.most_stolen == 1;
  const auto summary = is_run_here ? bench_summary({run_job(job)}) : run_repeated(job, plan.repeat, plan.most_stolen);
  if (!summary) return fail(summary.error());
  if (!plan.as_json) return print(summary->table());
  return print(
      summary->json({{"mode", std::string(plan.mode->name)}, {"design", std::string(to_string(plan.setup.design))}, {"file", plan.file}}));
}

/// A number that somebody has typed, in as few digits: shares of a CPU are less than what rounded figures tell.
std::string as_given(double number) {
  std::array<char, 32> text{};  // the longest double takes 24
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), number).ptr};
}

int run_index_table(const table_plan& plan) {
  if (!plan.out.empty() && !can_be_written(plan.out)) return fail("cannot write " + plan.out);
  bench_machine machine = describe_machine();
  if (!plan.commit.empty()) machine.commit = plan.commit;
  const std::string command = "kv-conductor-bench index-table DIR --repeat " + std::to_string(plan.repeat) +
                              (plan.reserve_mib == 0 ? "" : " --reserve " + std::to_string(plan.reserve_mib)) +
                              (plan.most_stolen == 1 ? "" : " --quiet " + as_given(plan.most_stolen)) +
                              (plan.with_reference ? "" : " --no-reference");
  const std::string page = write_page(measure_everything(plan), machine, command);
  if (plan.out.empty()) return print(page);
  return write_file(plan.out, page) ? 0 : fail("cannot write " + plan.out);
}

/// Measures with `run`, writes the page of the plan if it wants one, and prints figures for programs or for people.
template <class Plan, class Run, class Page, class Verdicts>
int measure_and_print(const Plan& plan, const std::string& mode, const std::string& command, Run run, Page page, Verdicts verdicts) {
  if (!plan.out.empty() && !can_be_written(plan.out)) return fail("cannot write " + plan.out);
  const auto summary = run(plan);
  if (!summary) return fail(summary.error());
  if (!plan.out.empty() && !write_file(plan.out, page(*summary, plan, command))) return fail("cannot write " + plan.out);
  if (!plan.as_json) return print(summary->table() + verdicts(*summary));
  const bench_machine machine = describe_machine();
  return print(summary->json(
      {{"mode", mode}, {"command", command}, {"commit", plan.commit.empty() ? machine.commit : plan.commit}, {"date", machine.date}}));
}

std::string no_verdicts(const bench_summary&) {
  return {};
}

int run_soaking(const soak_plan& plan) {
  return run_soak(plan) ? 0 : 1;
}

int run_reporting(const report_plan& plan, const std::string& command) {
  const auto said = run_report(plan, command);
  return said ? print(*said) : fail(said.error());
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

/// The command as somebody else could give it: files by their names alone, without what only labels the results.
std::string spoken(char** words, int count) {
  std::string command = "kv-conductor-bench";
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    if (word == "--commit" || word == "--remark") {
      ++i;
      continue;
    }
    const std::size_t slash = word.rfind('/');
    command += ' ' + (slash == std::string::npos ? word : word.substr(slash + 1));
  }
  return command;
}

int run_command(const bench_options& options, const std::string& command) {
  switch (options.command) {
    case bench_command::index: return run_index(options.index);
    case bench_command::index_table: return run_index_table(options.table);
    case bench_command::codec: return measure_and_print(options.micro, "codec", command, run_codec, codec_page, no_verdicts);
    case bench_command::json: return measure_and_print(options.micro, "json", command, run_json, json_page, no_verdicts);
    case bench_command::ingest: return measure_and_print(options.ingest, "ingest", command, run_ingest, ingest_page, ingest_verdicts);
    case bench_command::http: return measure_and_print(options.http, "http", command, run_http, http_page, http_verdicts);
    case bench_command::e2e: return measure_and_print(options.e2e, "e2e", command, run_e2e, e2e_page, no_verdicts);
    case bench_command::soak: return run_soaking(options.soak);
    case bench_command::report: return run_reporting(options.report, command);
    case bench_command::coordinator: return run_coordinator(options.coordinator);
    case bench_command::exist: return run_exist(options.exist);
    case bench_command::make: return run_make(options.make);
    case bench_command::help: break;
  }
  return print(options.help);
}

}  // namespace

int main(int count, char** words) {
  const bench_options options = parse_bench_options(std::vector<std::string>(words + 1, words + count));
  if (!options.error.empty()) {
    const std::string reason = options.error + "; --help teaches the rest";
    std::fprintf(stderr, "kv-conductor-bench: %s\n", reason.c_str());
    return 2;
  }
  try {
    return run_command(options, spoken(words, count));
  } catch (const std::exception& fault) {
    return fail(fault.what());
  }
}
