// How much of the machine's CPUs went to somebody else: what a virtual machine's host tells its guest.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace kvc::perf {

/// CPU time since the machine started, over all CPUs, in the kernel's ticks (a hundredth of a second each).
struct cpu_time {
  std::uint64_t all = 0;     ///< busy or idle
  std::uint64_t stolen = 0;  ///< a CPU had work, and the host ran somebody else
};

/// Of the text of /proc/stat (proc(5)); absent where it does not begin with such a line. Pure.
[[nodiscard]] std::optional<cpu_time> read_cpu_time(std::string_view stat);
/// Of this machine now. Absent where the system does not tell; a machine without a host tells that nothing was stolen.
[[nodiscard]] std::optional<cpu_time> cpu_time_now();

/// The share of the CPUs, 0 to 1, that was stolen between two looks.
[[nodiscard]] double stolen_share(const cpu_time& from, const cpu_time& to) noexcept;

}  // namespace kvc::perf
