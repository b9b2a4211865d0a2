#include "perf/bench_memory.hpp"

#include <algorithm>
#include <fstream>
#include <malloc.h>
#include <string>

#include "core/page_reserve.hpp"

namespace kvc::perf {

std::size_t anonymous_bytes() {
  ::malloc_trim(0);
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    if (word != "RssAnon:") continue;
    std::size_t kibibytes = 0;
    status >> kibibytes;
    const std::size_t bytes = kibibytes * 1024;
    return bytes - std::min(bytes, core::page_reserve_bytes());
  }
  return 0;
}

}  // namespace kvc::perf
