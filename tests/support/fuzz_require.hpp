// The check of a fuzz target: says what did not hold and aborts, which every fuzzer takes for a find.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace kvc::fuzz {

/// Aborts with `what` when `holds` is false, whatever the build type.
inline void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "fuzz: does not hold: %s\n", what);
  std::abort();
}

}  // namespace kvc::fuzz
