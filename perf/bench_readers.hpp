// Readers of the flags of single commands, for the two files that implement bench_options.
#pragma once

#include "perf/bench_options.hpp"
#include "perf/bench_words.hpp"

namespace kvc::perf {

/// Runs of one measurement that a command line may ask for.
inline constexpr std::uint32_t most_repeats = 1'000;
inline constexpr std::uint32_t last_cpu = 1'023;

/// What every measurement may be told: how often, and how to say it.
template <class Plan>
bool read_manner(word_reader& words, Plan& plan) {
  return words.whole("--repeat", plan.repeat, 1, most_repeats) || words.toggle("--json", plan.as_json) ||
         words.toggle("--no-yardstick", plan.with_yardstick, false);
}
/// Which server is measured, and on which CPUs.
template <class Plan>
bool read_server(word_reader& words, Plan& plan) {
  return words.text("--server", plan.program) || words.whole("--server-cpu", plan.server_cpu, 0, last_cpu) ||
         words.whole("--load-cpu", plan.load_cpu, 0, last_cpu);
}
/// Where the page of figures goes, and of which commit it tells.
template <class Plan>
bool read_page(word_reader& words, Plan& plan) {
  return words.text("--out", plan.out) || words.text("--commit", plan.commit);
}

/// The help of one of the commands that measure the whole server.
[[nodiscard]] std::string server_help(bench_command command);

/// Each reads the words of its command into its plan; faults go to the reader. Pure.
void read_http(word_reader& words, http_load_plan& plan);
void read_micro(word_reader& words, micro_plan& plan, bool has_forms);
void read_e2e(word_reader& words, e2e_plan& plan);
void read_soak(word_reader& words, soak_plan& plan);
void read_report(word_reader& words, report_plan& plan);

}  // namespace kvc::perf
