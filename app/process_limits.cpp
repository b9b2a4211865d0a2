#include "app/process_limits.hpp"

#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <thread>

namespace kvc::app {

std::uint64_t raise_open_files() noexcept {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  const rlim_t before = limit.rlim_cur;
  limit.rlim_cur = limit.rlim_max;
  return setrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : before;
}

std::size_t usable_cpus() noexcept {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  // Fails on machines with more CPUs than the set has room for (1024); then the library knows better.
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return std::max<std::size_t>(1, std::thread::hardware_concurrency());
  return std::max<std::size_t>(1, static_cast<std::size_t>(CPU_COUNT(&allowed)));
}

}  // namespace kvc::app
