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

}  // namespace kvc::app
