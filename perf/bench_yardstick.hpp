// Constants of the machine, measured beside every benchmark so that figures can be carried from one machine to another.
#pragma once

namespace kvc::perf {

/// Nanoseconds.
struct bench_yardstick {
  double touch512 = 0;  ///< one prefetched random 8-byte update in 512 MiB
  double miss = 0;      ///< one dependent cache miss in 256 MiB
};

/// Takes a few seconds and 512 MiB. Best of `repeats`, since disturbance only ever adds.
[[nodiscard]] bench_yardstick measure_yardstick(int repeats = 3);

}  // namespace kvc::perf
