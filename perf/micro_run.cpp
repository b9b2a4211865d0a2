#include "perf/micro_run.hpp"

#include <algorithm>
#include <cstdio>
#include <vector>

#include "perf/bench_fresh.hpp"
#include "perf/bench_page_head.hpp"
#include "perf/bench_run.hpp"
#include "perf/micro_codec.hpp"
#include "perf/micro_json.hpp"
#include "perf/sim_dialect.hpp"

namespace kvc::perf {
namespace {

boost::system::result<bench_summary, std::string> repeat(const micro_plan& plan, const char* name,
                                                         bench_report (*measure)(const micro_plan&)) {
  std::vector<bench_report> runs;
  for (std::uint32_t run = 1; run <= plan.repeat; ++run) {
    std::fprintf(stderr, "%s: run %u of %u\n", name, run, plan.repeat);
    auto measured = measure_fresh([&] {
      bench_report report = measure(plan);
      if (plan.with_yardstick) add_yardstick(report);
      return report;
    });
    if (!measured) return measured.error();
    runs.push_back(std::move(*measured));
  }
  return bench_summary(runs);
}

std::string reading_line(const bench_summary& measured, const std::string& what, const std::string& name) {
  const auto us = [&](const std::string& figure) { return page_cell(measured, name + figure, 1e3); };
  return "| " + what + " | " + page_cell(measured, name + "_bytes", 1e3) + " | " + us("_plain_ns") + " | " + us("_general_ns") + " | " +
         us("_library_ns") + " | " + us("_copy_ns") + " |\n";
}

}  // namespace

boost::system::result<bench_summary, std::string> run_codec(const micro_plan& plan) {
  const auto is_it = [&plan](const sim::form_traits& each) { return each.name == plan.form; };
  if (!plan.form.empty() && std::ranges::none_of(sim::all_forms(), is_it)) {
    return "there is no form " + plan.form + "; it is one of " + sim::form_names();
  }
  return repeat(plan, "codec", &measure_codec);
}

boost::system::result<bench_summary, std::string> run_json(const micro_plan& plan) {
  return repeat(plan, "json", &measure_json);
}

std::string codec_page(const bench_summary& measured, const micro_plan& plan, const std::string& command) {
  std::string page = page_head("Decoding events: figures", command, plan.commit, measured.runs());
  page +=
      "CPU nanoseconds per block, from payloads that are in cache; a block is 16 tokens, or an object of a store (the last three forms). "
      "*decode* is what the service does; *scan* our MessagePack reader alone; *library* msgpack-c to its tree; *copy* the bytes copied, "
      "which is receiving and throwing away without a socket.\n\n"
      "| form | bytes per batch | events, blocks | decode, per event | decode | scan | library | copy "
      "|\n|---|---|---|---|---|---|---|---|\n";
  for (const sim::form_traits& each : sim::all_forms()) {
    const std::string name(each.name);
    if (!measured.median(name + "_bytes")) continue;
    page += "| " + name + " | " + page_cell(measured, name + "_bytes") + " | " + bench_number(*measured.median(name + "_events")) + ", " +
            bench_number(*measured.median(name + "_blocks")) + " | " + page_cell(measured, name + "_decode_ns_per_event") + " | " +
            page_cell(measured, name + "_decode_ns_per_block") + " | " + page_cell(measured, name + "_scan_ns_per_block") + " | " +
            page_cell(measured, name + "_library_ns_per_block") + " | " + page_cell(measured, name + "_copy_ns_per_block") + " |\n";
  }
  return page + page_figures(measured);
}

std::string json_page(const bench_summary& measured, const micro_plan& plan, const std::string& command) {
  std::string page = page_head("Reading requests and writing answers: figures", command, plan.commit, measured.runs());
  page +=
      "CPU microseconds per request, from bodies that are in cache. *plain* is our one-pass reader for bodies as routers write them; "
      "*general* the one for everything else, Boost.JSON's scanner with our handler; *library* Boost.JSON to a value; *copy* the bytes "
      "copied.\n\n| body | kB | plain | general | library | copy |\n|---|---|---|---|---|---|\n";
  page += reading_line(measured, "4,096 tokens", "tokens_4096") + reading_line(measured, "131,072 tokens", "tokens_131072") +
          reading_line(measured, "128 hashes", "hashes_128");
  page += "\n4,096 tokens as a MessagePack bin: " + page_cell(measured, "tokens_4096_packed_ns", 1e3) + " us.\n\n";
  page += "An answer of 64 rows (" + page_cell(measured, "answer_bytes") +
          " bytes as JSON): " + page_cell(measured, "answer_json_ns", 1e3) + " us as JSON, " +
          page_cell(measured, "answer_msgpack_ns", 1e3) + " us as MessagePack; Boost.JSON writes it in " +
          page_cell(measured, "answer_library_ns", 1e3) + " us from a value that is there.\n";
  return page + page_figures(measured);
}

}  // namespace kvc::perf
