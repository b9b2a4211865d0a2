// kv-conductor-sim --chaos: seeds one after the other, several at once, against a running server, with news and a verdict.
#pragma once

#include "perf/sim_options.hpp"

namespace kvc::sim {

/// Runs the seeds that the options ask for. Prints news every few seconds and a report at the end; stops early at TERM or Ctrl-C. Returns
/// the process's exit code: 0 when everything agreed (and, with a watched process, its memory stayed flat), else 1.
[[nodiscard]] int run_chaos(const options& chosen);

}  // namespace kvc::sim
