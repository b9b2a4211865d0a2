#include "perf/e2e_run.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <stdexcept>
#include <vector>

#include "perf/bench_folder.hpp"
#include "perf/bench_fresh.hpp"
#include "perf/bench_page_head.hpp"
#include "perf/e2e_lag.hpp"
#include "perf/report_figures.hpp"
#include "perf/sim_chaos_run.hpp"
#include "perf/sim_run.hpp"

namespace kvc::perf {
namespace {

bench_server::place server_place(const std::string& program, int cpu) {
  bench_server::place where{.program = program, .cpu = cpu};
  if (where.program.empty()) where.program = std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path() / "kv-conductor";
  return where;
}

/// One run of the simulator against a server of its own. In a process of its own: it says much on standard output.
bench_report play(const e2e_plan& plan, sim::routing_kind routing, bool is_strict) {
  bench_server server(server_place(plan.program, static_cast<int>(plan.server_cpu)), {"--no-coordinator-enable-startup-resync"});
  stay_on_cpu(static_cast<int>(plan.load_cpu));
  const bench_folder folder;
  const std::string summary = folder.file("summary.json");
  sim::options chosen;
  chosen.trace = plan.trace;
  chosen.requests = is_strict ? plan.strict_requests : plan.requests;
  chosen.engines = plan.engines;
  chosen.cache_blocks = plan.cache_blocks;
  chosen.routing = routing;
  chosen.strict = is_strict;
  chosen.plain = true;
  chosen.clients = is_strict ? 1 : 4;
  chosen.wire = sim::query_form::msgpack;
  chosen.server_port = server.port();
  chosen.json_file = summary;
  if (std::freopen("/dev/null", "w", stdout) == nullptr) throw std::runtime_error("cannot silence the simulator");
  const int code = sim::run_simulation(chosen);
  const auto figures = read_figures_file(summary);
  if (code != 0 || !figures) throw std::runtime_error("the simulator failed");
  return *figures;
}

void add_routing(const bench_report& from, const std::string& name, bench_report& into) {
  const auto of = [&from](std::string_view figure) { return from.find(figure).value_or(0); };
  into.add(name + "_saved_percent", 100 * of("saved_tokens") / of("prompt_tokens"));
  into.add(name + "_saved_tokens", of("saved_tokens"));
  into.add(name + "_prompt_tokens", of("prompt_tokens"));
  into.add(name + "_agreement_percent", 100 * of("exact_answers") / of("answers"));
  into.add(name + "_query_us_p50", of("latency_us_p50"));
  into.add(name + "_query_us_p99", of("latency_us_p99"));
  into.add(name + "_requests_per_s", of("requests") / of("elapsed_s"));
}

struct way {
  const char* name;
  sim::routing_kind routing;
};
constexpr way ways[] = {
    {"conductor", sim::routing_kind::conductor}, {"round_robin", sim::routing_kind::round_robin}, {"random", sim::routing_kind::random}};

/// Everything once; `fault` says why not.
bool measure(const e2e_plan& plan, std::uint32_t run, bench_report& report, std::string& fault) {
  const auto in_process = [&](const std::string& what, const std::function<bench_report()>& work) {
    std::fprintf(stderr, "e2e: run %u of %u: %s\n", run, plan.repeat, what.c_str());
    auto measured = measure_fresh(work);
    if (!measured) fault = what + ": " + measured.error();
    return measured;
  };
  for (const way& each : ways) {
    const auto played = in_process(std::string("routing: ") + each.name, [&] { return play(plan, each.routing, false); });
    if (!played) return false;
    add_routing(*played, each.name, report);
  }
  if (plan.strict_requests > 0) {
    const auto strict = in_process("every answer exact", [&] { return play(plan, sim::routing_kind::conductor, true); });
    if (!strict) return false;
    report.add("strict_answers", strict->find("answers").value_or(0));
    report.add("strict_differences", strict->find("differences").value_or(0));
  }
  const ingest_plan traffic{.trace = plan.trace, .streams = plan.engines, .cache_blocks = plan.cache_blocks, .blocks = plan.blocks};
  const auto lag = in_process("publish to queryable", [&] {
    const auto frames = frames_of_requests(traffic, net::event_form::vllm_map);
    if (!frames) throw std::runtime_error(frames.error());
    stay_on_cpu(static_cast<int>(plan.load_cpu));
    bench_report into;
    measure_e2e_lag(plan, server_place(plan.program, static_cast<int>(plan.server_cpu)), *frames, into);
    return into;
  });
  if (!lag) return false;
  for (const bench_figure& each : lag->figures()) report.add(each.name, each.value);
  return true;
}

}  // namespace

boost::system::result<bench_summary, std::string> run_e2e(const e2e_plan& plan) {
  std::vector<bench_report> runs;
  for (std::uint32_t run = 1; run <= plan.repeat; ++run) {
    std::string fault;
    if (!measure(plan, run, runs.emplace_back(), fault)) return fault;
  }
  return bench_summary(runs);
}

std::string e2e_page(const bench_summary& measured, const e2e_plan& plan, const std::string& command) {
  std::string page = page_head("From end to end: figures", command, plan.commit, measured.runs());
  page += "The real server with one lane on one core; " + std::to_string(plan.engines) + " simulated engines of " +
          std::to_string(plan.cache_blocks) + " blocks of 64 tokens, as fast as they go, " +
          (plan.trace.empty() ? "made-up requests" : "requests of the Mooncake conversation trace") + ".\n\n";
  page +=
      "| routing | prompt tokens saved | rows that agree with the engines | query p50, us | p99, us | requests/s "
      "|\n|---|---|---|---|---|---|\n";
  for (const way& each : ways) {
    const std::string name(each.name);
    page += "| " + name + " | " + page_cell(measured, name + "_saved_percent") + " % (" + page_cell(measured, name + "_saved_tokens", 1e6) +
            " M of " + page_cell(measured, name + "_prompt_tokens", 1e6) + " M) | " + page_cell(measured, name + "_agreement_percent") +
            " % | " + page_cell(measured, name + "_query_us_p50") + " | " + page_cell(measured, name + "_query_us_p99") + " | " +
            page_cell(measured, name + "_requests_per_s") + " |\n";
  }
  page +=
      "\nRows disagree only while events are under way: the comparison is with what the engines hold when the answer arrives. With every "
      "event waited for (strict), of " +
      page_cell(measured, "strict_answers") + " rows " + page_cell(measured, "strict_differences") + " differed.\n\n";
  page += "Publish to queryable at " + page_cell(measured, "lag_blocks_per_s", 1e3) + " thousand blocks/s, as a client sees it that asks " +
          page_cell(measured, "lag_looks_per_s") + " times a second: p50 " + page_cell(measured, "lag_ns_p50", 1e6) + " ms, p99 " +
          page_cell(measured, "lag_ns_p99", 1e6) + " ms, longest " + page_cell(measured, "lag_ns_max", 1e6) + " ms.\n";
  return page + page_figures(measured);
}

bool run_soak(const soak_plan& plan) {
  // Short deadlines, since replays that are never answered are part of the game.
  bench_server server(server_place(plan.program, -1), {"--stream-replay-timeout-ms", "1500", "--stream-idle-check-ms", "50"});
  sim::options chosen;
  chosen.chaos = true;
  chosen.chaos_seed =
      plan.seed != 0 ? plan.seed : static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count() / 1'000'000'000);
  chosen.minutes = plan.seeds != 0 ? 0 : plan.minutes;
  chosen.chaos_seeds = std::max(plan.seeds, 1U);
  chosen.clients = plan.fleets;
  chosen.server_port = server.port();
#if !defined(__SANITIZE_ADDRESS__)
  chosen.watched_process = static_cast<std::uint32_t>(server.pid());  // a sanitizer's allocator keeps what is freed
#endif
  std::printf("soak: %u %s, seeds from %llu, %u fleets at once\n", plan.seeds != 0 ? plan.seeds : plan.minutes,
              plan.seeds != 0 ? "seeds" : "minutes", static_cast<unsigned long long>(chosen.chaos_seed), plan.fleets);
  const int code = sim::run_chaos(chosen);
  const int stopped = server.stop();
  if (stopped != 0) std::fprintf(stderr, "kv-conductor-bench: the server stopped with %d\n", stopped);
  return code == 0 && stopped == 0;
}

}  // namespace kvc::perf
