#include "perf/bench_readers.hpp"

namespace kvc::perf {
namespace {

template <class Named>
std::string names_of(const Named& all) {
  std::string names;
  for (const auto& each : all) names += ", " + std::string(each.name);
  return names;
}

}  // namespace

void read_http(word_reader& words, http_load_plan& plan) {
  std::string workload = "all";
  while (words.next()) {
    const bool known = words.text("--workload", workload) || words.whole("--rate", plan.rate, 1, 10'000'000) ||
                       words.whole("--connections", plan.connections, 1, 8'192) || words.whole("--seconds", plan.seconds, 1, 3'600) ||
                       words.whole("--instances", plan.instances, 1, 1'024) || words.whole("--blocks", plan.blocks, 1, 100'000'000) ||
                       words.whole("--cache-blocks", plan.cache_blocks, 1, 16'777'216) ||
                       words.whole("--beside", plan.beside, 0, 100'000'000) || words.text("--trace", plan.trace) ||
                       read_server(words, plan) || read_manner(words, plan) || read_page(words, plan) ||
                       words.toggle("--closed", plan.is_closed) || words.toggle("--sweep", plan.with_sweep) ||
                       words.toggle("--nginx", plan.with_neighbour);
    if (!known) words.operand({});
  }
  plan.only = find_http_workload(workload);
  if (plan.only == nullptr && workload != "all") {
    words.fail("there is no workload " + workload + "; --workload is one of all" + names_of(http_workloads));
  }
  if (plan.is_closed && plan.rate != 0) words.fail("--rate offers requests at a fixed rate, which --closed does not");
}

void read_micro(word_reader& words, micro_plan& plan, bool has_forms) {
  while (words.next()) {
    const bool known = (has_forms && words.text("--form", plan.form)) || words.whole("--milliseconds", plan.milliseconds, 5, 60'000) ||
                       read_manner(words, plan) || read_page(words, plan);
    if (!known) words.operand({});
  }
}

void read_e2e(word_reader& words, e2e_plan& plan) {
  while (words.next()) {
    const bool known =
        words.text("--trace", plan.trace) || words.whole("--requests", plan.requests, 1, 10'000'000) ||
        words.whole("--strict-requests", plan.strict_requests, 0, 10'000'000) || words.whole("--engines", plan.engines, 1, 1'024) ||
        words.whole("--cache-blocks", plan.cache_blocks, 1, 16'777'216) || words.whole("--rate", plan.rate, 1, 100'000'000) ||
        words.whole("--blocks", plan.blocks, 1, 100'000'000) || read_server(words, plan) ||
        words.whole("--repeat", plan.repeat, 1, most_repeats) || read_page(words, plan) || words.toggle("--json", plan.as_json);
    if (!known) words.operand({});
  }
}

void read_soak(word_reader& words, soak_plan& plan) {
  while (words.next()) {
    const bool known = words.whole("--minutes", plan.minutes, 1, 100'000) || words.whole("--seeds", plan.seeds, 1, 1'000'000) ||
                       words.whole("--seed", plan.seed, 1, ~std::uint64_t{0} / 2) || words.whole("--fleets", plan.fleets, 1, 1'024) ||
                       words.text("--server", plan.program);
    if (!known) words.operand({});
  }
}

void read_report(word_reader& words, report_plan& plan) {
  std::uint64_t queries = 1;
  while (words.next()) {
    const bool known = words.text("--ingest", plan.ingest) || words.text("--http", plan.http) || words.text("--e2e", plan.e2e) ||
                       words.text("--trace", plan.trace) || words.text("--server", plan.program) || words.text("--commit", plan.commit) ||
                       words.text("--remark", plan.remark) || words.whole("--cores", plan.cores, 1, 100'000) ||
                       words.whole("--memory-gib", plan.memory_gib, 1, 1'000'000) ||
                       words.whole("--engine-blocks", plan.engine_blocks, 1, 1'000'000'000) ||
                       words.whole("--engine-events", plan.engine_events, 0, 1'000'000'000) ||
                       words.whole("--engine-queries", queries, 0, 1'000'000) ||
                       words.whole("--check-entries", plan.check_entries, 1, 500'000'000) || words.toggle("--quick", plan.is_quick) ||
                       words.toggle("--scale", plan.only_scale);
    if (!known) words.operand({&plan.folder});
  }
  plan.engine_queries = static_cast<double>(queries);
  if (plan.folder.empty() && !plan.only_scale) words.fail("name the folder to write the report into, or ask for --scale alone");
}

}  // namespace kvc::perf
