#include "perf/sim_memory_watch.hpp"

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <unistd.h>

namespace kvc::sim {
namespace {

std::uint64_t median_of(std::vector<std::uint64_t> samples) {
  const auto middle = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
  std::ranges::nth_element(samples, middle);
  return *middle;
}

}  // namespace

std::optional<std::uint64_t> resident_bytes(std::uint32_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/statm");
  std::uint64_t all = 0;
  std::uint64_t resident = 0;
  if (!(file >> all >> resident)) return std::nullopt;
  return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

std::optional<memory_watch::verdict> memory_watch::judge() const {
  if (samples_.size() < least_samples) return std::nullopt;
  const auto quarter = static_cast<std::ptrdiff_t>(samples_.size() / 4);
  verdict found;
  found.before = median_of({samples_.end() - 2 * quarter, samples_.end() - quarter});
  found.after = median_of({samples_.end() - quarter, samples_.end()});
  const double bound = static_cast<double>(found.before) * (1 + allowed_growth) + static_cast<double>(allowed_bytes);
  found.is_flat = static_cast<double>(found.after) <= bound;
  return found;
}

}  // namespace kvc::sim
