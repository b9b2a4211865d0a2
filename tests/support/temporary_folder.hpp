// A folder for what a test writes, gone with the test.
#pragma once

#include "perf/bench_folder.hpp"

namespace kvc::test {

/// The benchmarks' own: a new folder among the system's temporary ones, removed at the end with all that is in it.
using temporary_folder = perf::bench_folder;

}  // namespace kvc::test
