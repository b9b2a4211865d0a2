// What the machine lets this process use.
#pragma once

#include <cstddef>
#include <cstdint>

namespace kvc::app {

/// Raises the soft limit of open files to the hard one and answers the limit now in force. A connection and a stream's sockets each need a
/// descriptor or more, and the usual soft limit of 1024 is far below what a service may hold.
[[nodiscard]] std::uint64_t raise_open_files() noexcept;

/// CPUs the scheduler lets this process run on; at least 1.
[[nodiscard]] std::size_t usable_cpus() noexcept;

/// Bytes of memory that this process may still take before the kernel would have to end somebody: what the machine has available
/// (MemAvailable of /proc/meminfo; where that is hidden, free memory only), or less where a control group (v2, its own or one above it)
/// leaves less. The largest number where neither can be read.
[[nodiscard]] std::uint64_t memory_left();

}  // namespace kvc::app
