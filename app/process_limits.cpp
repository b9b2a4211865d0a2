#include "app/process_limits.hpp"

#include <algorithm>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sched.h>
#include <string>
#include <string_view>
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <thread>
#include <unistd.h>

namespace kvc::app {

std::uint64_t raise_open_files() noexcept {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  const rlim_t before = limit.rlim_cur;
  limit.rlim_cur = limit.rlim_max;
  return setrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : before;
}

std::uint64_t descriptors_at_start(std::size_t lanes, std::size_t ports, std::size_t zmq_io_threads) noexcept {
  constexpr std::uint64_t of_process = 20;
  constexpr std::uint64_t of_lane = 4;  // and one per port
  constexpr std::uint64_t of_zmq_thread = 4;
  return of_process + zmq_io_threads * of_zmq_thread + lanes * (of_lane + ports);
}

void fill_standard_descriptors() noexcept {
  for (const int each : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    // The lowest free number, which is this one. The wrong way round, so that writing fails as it did, and is told.
    if (::fcntl(each, F_GETFD) < 0) static_cast<void>(::open("/dev/null", each == STDIN_FILENO ? O_WRONLY : O_RDONLY));
  }
}

std::size_t usable_cpus() noexcept {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  // Fails on machines with more CPUs than the set has room for (1024); then the library knows better.
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return std::max<std::size_t>(1, std::thread::hardware_concurrency());
  return std::max<std::size_t>(1, static_cast<std::size_t>(CPU_COUNT(&allowed)));
}

namespace {

constexpr std::uint64_t unlimited = std::numeric_limits<std::uint64_t>::max();

/// The number behind `word` in a file of words, or the first number where `word` is empty; `unlimited` where there is none ("max" is none).
std::uint64_t number_in(const std::filesystem::path& file, std::string_view word = {}) {
  std::ifstream words(file);
  std::string each;
  while (!word.empty() && words >> each && each != word) continue;
  std::uint64_t number = 0;
  return words >> number ? number : unlimited;
}

/// For who may not read /proc/meminfo. Too low: leaves out what files take and would give up.
std::uint64_t free_bytes() {
  struct sysinfo now {};
  return ::sysinfo(&now) == 0 ? std::uint64_t{now.freeram} * now.mem_unit : unlimited;
}

std::uint64_t left_in_group(const std::filesystem::path& group) {
  const std::uint64_t most = number_in(group / "memory.max");
  const std::uint64_t used = number_in(group / "memory.current");
  if (most == unlimited || used == unlimited) return unlimited;
  return most - std::min(most, used);
}

}  // namespace

std::uint64_t memory_left() {
  constexpr std::uint64_t kibibyte = 1'024;
  const std::uint64_t available = number_in("/proc/meminfo", "MemAvailable:");
  std::uint64_t left = available == unlimited ? free_bytes() : available * kibibyte;
  std::ifstream membership("/proc/self/cgroup");
  for (std::string line; std::getline(membership, line);) {
    constexpr std::string_view v2 = "0::/";
    if (!line.starts_with(v2)) continue;
    const std::filesystem::path root = "/sys/fs/cgroup";
    for (std::filesystem::path group = root / line.substr(v2.size());; group = group.parent_path()) {
      left = std::min(left, left_in_group(group));
      if (group == root || !group.has_relative_path()) break;
    }
  }
  return left;
}

}  // namespace kvc::app
