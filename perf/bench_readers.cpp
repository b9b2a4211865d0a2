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
                       words.text("--server", plan.program) || words.whole("--server-cpu", plan.server_cpu, 0, last_cpu) ||
                       words.whole("--load-cpu", plan.load_cpu, 0, last_cpu) || words.whole("--repeat", plan.repeat, 1, most_repeats) ||
                       words.text("--out", plan.out) || words.text("--commit", plan.commit);
    if (known) continue;
    if (words.is("--closed")) {
      plan.is_closed = true;
    } else if (words.is("--sweep")) {
      plan.with_sweep = true;
    } else if (words.is("--nginx")) {
      plan.with_neighbour = true;
    } else if (words.is("--json")) {
      plan.as_json = true;
    } else if (words.is("--no-yardstick")) {
      plan.with_yardstick = false;
    } else {
      words.operand({});
    }
  }
  plan.only = find_http_workload(workload);
  if (plan.only == nullptr && workload != "all") {
    words.fail("there is no workload " + workload + "; --workload is one of all" + names_of(http_workloads));
  }
  if (plan.is_closed && plan.rate != 0) words.fail("--rate offers requests at a fixed rate, which --closed does not");
}

}  // namespace kvc::perf
