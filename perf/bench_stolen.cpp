#include "perf/bench_stolen.hpp"

#include <array>
#include <charconv>
#include <fstream>
#include <string>

namespace kvc::perf {
namespace {

constexpr std::size_t columns = 8;  ///< user, nice, system, idle, iowait, irq, softirq, steal; what follows is part of these
constexpr std::size_t stolen_column = 7;

}  // namespace

std::optional<cpu_time> read_cpu_time(std::string_view stat) {
  constexpr std::string_view head = "cpu ";
  if (!stat.starts_with(head)) return std::nullopt;
  const char* at = stat.data() + head.size();
  const char* const end = stat.data() + stat.size();
  cpu_time read;
  for (std::size_t column = 0; column < columns; ++column) {
    while (at != end && *at == ' ') ++at;
    std::uint64_t ticks = 0;
    const auto [behind, fault] = std::from_chars(at, end, ticks);
    if (fault != std::errc()) return std::nullopt;
    at = behind;
    read.all += ticks;
    if (column == stolen_column) read.stolen = ticks;
  }
  return read;
}

std::optional<cpu_time> cpu_time_now() {
  std::ifstream file("/proc/stat");
  std::string line;
  std::getline(file, line);
  return read_cpu_time(line);
}

double stolen_share(const cpu_time& from, const cpu_time& to) noexcept {
  if (to.all <= from.all || to.stolen <= from.stolen) return 0;
  return static_cast<double>(to.stolen - from.stolen) / static_cast<double>(to.all - from.all);
}

}  // namespace kvc::perf
