// Readers of the flags of single commands, for the two files that implement bench_options.
#pragma once

#include "perf/bench_options.hpp"
#include "perf/bench_words.hpp"

namespace kvc::perf {

/// Runs of one measurement that a command line may ask for.
inline constexpr std::uint32_t most_repeats = 1'000;
inline constexpr std::uint32_t last_cpu = 1'023;

/// The help of one of the commands that measure the whole server.
[[nodiscard]] std::string server_help(bench_command command);

/// Each reads the words of its command into its plan; faults go to the reader. Pure.
void read_http(word_reader& words, http_load_plan& plan);
void read_micro(word_reader& words, micro_plan& plan, bool has_forms);
void read_e2e(word_reader& words, e2e_plan& plan);
void read_soak(word_reader& words, soak_plan& plan);
void read_report(word_reader& words, report_plan& plan);

}  // namespace kvc::perf
