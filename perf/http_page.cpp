// What is to be reached over HTTP, and the page of figures.
#include <array>
#include <string_view>

#include "perf/bench_machine.hpp"
#include "perf/bench_page_bars.hpp"
#include "perf/bench_page_head.hpp"
#include "perf/http_run.hpp"

namespace kvc::perf {
namespace {

/// (Source: the bars of the perf harness, server on one core and load on the other.)
constexpr std::array<page_bar, 6> bars{{
    {"healthz_of_nginx", "GET /healthz, of nginx returning the same body from one worker", 0.9, true, 1, ""},
    {"query_by_hash_closed_per_s", "/query_by_hash, 128 hashes, 64 instances", 40'000, true, 1, "/s"},
    {"query_msgpack_closed_per_s", "/query, 4,096 tokens, MessagePack bin", 40'000, true, 1, "/s"},
    {"query_json_closed_per_s", "/query, 4,096 tokens, JSON", 12'000, true, 1, "/s"},
    {"query_long_at_50_percent_ns_p50", "/query, 131,072 tokens, JSON, p50 at half load", 1.6e6, false, 1e6, " ms"},
    {"beside_ns_p99", "/query_by_hash at half load beside 500,000 blocks/s, p99", 300'000, false, 1e3, " us"},
}};

std::string us(const bench_summary& measured, const std::string& figure) {
  const auto value = measured.median(figure);
  return value ? bench_number(*value / 1e3) : std::string("-");
}

std::string whole(const bench_summary& measured, const std::string& figure) {
  const auto value = measured.median(figure);
  return value ? std::to_string(static_cast<std::uint64_t>(*value)) : std::string("-");
}

std::string closed_lines(const bench_summary& measured) {
  std::string text =
      "| workload | answers/s | per second of the server's CPU | its share of the core | p50, us | p99, us |\n|---|---|---|---|---|---|\n";
  for (const http_workload_name& each : http_workloads) {
    const std::string name = std::string(each.name) + "_closed";
    if (!measured.median(name + "_per_s")) continue;
    text += "| " + std::string(each.what) + " | " + whole(measured, name + "_per_s") + " | " + whole(measured, name + "_per_cpu_s") +
            " | " + bench_number(measured.median(name + "_cpu_share").value_or(0)) + " | " + us(measured, name + "_ns_p50") + " | " +
            us(measured, name + "_ns_p99") + " |\n";
  }
  if (measured.median("nginx_closed_per_s")) {
    text += "| nginx, GET /healthz | " + whole(measured, "nginx_closed_per_s") + " | | | " + us(measured, "nginx_closed_ns_p50") + " | " +
            us(measured, "nginx_closed_ns_p99") + " |\n";
  }
  return text;
}

std::string open_line(const bench_summary& measured, const std::string& what, const std::string& name) {
  if (!measured.median(name + "_offered_per_s")) return {};
  const std::string figure = name + "_server_waited_percent";
  const std::string waited = measured.median(figure) ? page_cell(measured, figure) + " %" : std::string();
  return "| " + what + " | " + whole(measured, name + "_offered_per_s") + " | " + whole(measured, name + "_achieved_per_s") + " | " +
         us(measured, name + "_ns_p50") + " | " + us(measured, name + "_ns_p99") + " | " + us(measured, name + "_ns_p999") + " | " +
         us(measured, name + "_ns_max") + " | " + waited + " |\n";
}

/// And below it nginx at the same rate, where there is one.
std::string open_lines_of(const bench_summary& measured, const std::string& what, const std::string& name) {
  return open_line(measured, what, name) + open_line(measured, "nginx, GET /healthz at that rate", "nginx_as_" + name);
}

std::string open_lines(const bench_summary& measured) {
  std::string text =
      "| workload | offered/s | achieved/s | p50, us | p99, us | p99.9, us | longest, us | server without its CPU "
      "|\n|---|---|---|---|---|---|---|---|\n";
  for (const http_workload_name& each : http_workloads) {
    const std::string name(each.name);
    text += open_lines_of(measured, name, name + "_open");
    for (const int percent : http_sweep_percents) {
      text += open_lines_of(measured, name + ", " + std::to_string(percent) + " %", name + "_at_" + std::to_string(percent) + "_percent");
    }
  }
  return text + open_line(measured, "query_by_hash beside events", "beside");
}

}  // namespace

std::string http_verdicts(const bench_summary& measured) {
  return bar_verdicts(bars, measured);
}

std::string http_page(const bench_summary& measured, const http_load_plan& plan, const std::string& command) {
  const bench_machine machine = describe_machine();
  std::string page = "# The service over HTTP: figures and bars\n\nCommand: `" + command + "`, commit " +
                     (plan.commit.empty() ? machine.commit : plan.commit) + ", " + machine.date + ".\n\n";
  page += "Machine: " + machine.cpu + ", " + std::to_string(machine.cores) + " cores, transparent huge pages " + machine.huge_pages + "; " +
          machine.build + ". The server, all of its threads, has one core, the load another.\n\n";
  page += "Medians of " + std::to_string(measured.runs()) + " runs, with the least and the greatest; " + std::to_string(plan.instances) +
          " instances, " + whole(measured, "index_entries") + " blocks held, " + std::to_string(plan.connections) + " connections.\n\n";
  page += bar_table(bars, measured);
  page += "\n## As fast as it answers (closed loop)\n\n" + closed_lines(measured);
  page +=
      "\n## At a fixed rate (open loop)\n\nLatency is counted from the moment a request was due. What nginx shows at the same "
      "rate is what the kernel, the loopback and the load make of it on this machine.\n\n" +
      open_lines(measured);
  if (const auto beside = measured.median("beside_blocks_per_s")) {
    page += "\nBeside events: " + std::to_string(static_cast<std::uint64_t>(*beside)) + " blocks/s were applied meanwhile.\n";
  }
  return page + "\n## All figures\n\n```\n" + measured.table() + "```\n";
}

}  // namespace kvc::perf
