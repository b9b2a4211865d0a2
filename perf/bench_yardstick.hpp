// Constants of the machine, measured beside every benchmark so that figures can be carried from one machine to another.
#pragma once

namespace kvc::perf {

/// Nanoseconds.
struct bench_yardstick {
  double touch32 = 0;       ///< one random 8-byte update in 32 MiB, prefetched 16 ahead
  double touch512 = 0;      ///< the same in 512 MiB
  double miss = 0;          ///< one dependent cache miss in 256 MiB
  double compare = 0;       ///< comparing one 8-byte hash with another, in two arrays of 1,024
  double compare_cold = 0;  ///< the same, in two arrays of 8,388,608
};

/// Takes some seconds and 600 MiB. Best of `repeats`, at least 1, since disturbance only ever adds.
[[nodiscard]] bench_yardstick measure_yardstick(int repeats = 3);

}  // namespace kvc::perf
