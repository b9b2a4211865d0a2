// The command line of kv-conductor-bench: words, ranges, defaults, and the help that teaches them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "perf/bench_design.hpp"
#include "perf/bench_maker.hpp"
#include "perf/bench_modes.hpp"
#include "perf/e2e_plan.hpp"
#include "perf/http_plan.hpp"
#include "perf/ingest_plan.hpp"
#include "perf/micro_plan.hpp"
#include "perf/report_plan.hpp"

namespace kvc::perf {

/// What is to be done.
enum class bench_command : std::uint8_t {
  help,
  index,
  index_table,
  codec,
  json,
  ingest,
  http,
  e2e,
  coordinator,
  exist,
  soak,
  report,
  make
};

/// `index`: one mode.
struct index_plan {
  const bench_mode* mode = nullptr;  ///< never null after parsing
  std::string file;                  ///< empty exactly when the mode replays none
  bench_setup setup;
  std::uint32_t repeat = 1;
  double most_stolen = 1;         ///< share of the CPUs; a run that lost more is made again
  std::uint32_t reserve_mib = 0;  ///< memory that is touched before anything is measured
  bool as_json = false;
  bool with_yardstick = true;
};

/// `index-table`: everything there is a bar for.
struct table_plan {
  std::string folder;  ///< where the workload files lie
  std::string out;     ///< empty: standard output
  std::string commit;  ///< empty: ask git in the current folder
  std::uint32_t repeat = 5;
  double most_stolen = 1;         ///< share of the CPUs; a run that lost more is made again
  std::uint32_t reserve_mib = 0;  ///< memory that each run touches before it measures anything
  bool with_reference = true;     ///< also the positional design
};

/// `coordinator`: the fleet coordinator's tables, or the whole server over HTTP.
struct coordinator_plan {
  std::string mode = "all";
  bool over_http = false;
  std::string program;           ///< the server over HTTP; empty: the one of the same build
  std::uint32_t server_cpu = 0;  ///< where it runs over HTTP
  std::uint32_t load_cpu = 1;    ///< where the load comes from
  std::uint32_t repeat = 1;
  bool as_json = false;
  bool with_yardstick = true;
};

/// `exist`: probes for objects of stores.
struct exist_plan {
  std::string mode = "all";
  std::string program;  ///< the server; empty: the one of the same build
  std::uint32_t server_cpu = 0;
  std::uint32_t load_cpu = 1;
  std::uint64_t objects = 5'000'000;  ///< of mode memory
  std::uint64_t stored = 100'000;     ///< objects that probes ask for
  std::uint64_t probes = 200'000;     ///< of mode rate; the others take a part of them
  std::uint32_t repeat = 1;
  bool as_json = false;
  bool with_yardstick = true;
};

/// What the command line says. Only the plan of the command counts.
struct bench_options {
  bench_command command = bench_command::help;
  index_plan index;
  table_plan table;
  ingest_plan ingest;
  micro_plan micro;  ///< of `codec` and `json`
  http_load_plan http;
  e2e_plan e2e;
  soak_plan soak;
  report_plan report;
  coordinator_plan coordinator;
  exist_plan exist;
  maker_plan make;
  std::string help;   ///< for `help`: what to print
  std::string error;  ///< empty: everything is fine
};

/// Reads the words behind the program's name: `--name value` and `--name=value`. Never exits, never prints. Pure.
[[nodiscard]] bench_options parse_bench_options(const std::vector<std::string>& words);

/// The help of one command, or of the program. Pure.
[[nodiscard]] std::string bench_help(bench_command command);

}  // namespace kvc::perf
