// What the machine lets this process use.
#pragma once

#include <cstddef>
#include <cstdint>

namespace kvc::app {

/// Raises the soft limit of open files to the hard one and answers the limit now in force. A connection and a stream's sockets each need a
/// descriptor or more, and the usual soft limit of 1024 is far below what a service may hold.
[[nodiscard]] std::uint64_t raise_open_files() noexcept;

/// Descriptors that the process takes before anybody connects: those of each lane and of each of libzmq's threads, and some of its own.
/// libzmq ends a process that has fewer. Measured; a little more than that.
[[nodiscard]] std::uint64_t descriptors_at_start(std::size_t lanes, std::size_t ports, std::size_t zmq_io_threads) noexcept;

/// Puts something that can neither be read nor written in the place of those of the three standard descriptors that are closed. Otherwise
/// the next sockets took these places, and every log line would go to whoever is at the other end. Call before anything is opened.
void fill_standard_descriptors() noexcept;

/// CPUs the scheduler lets this process run on; at least 1.
[[nodiscard]] std::size_t usable_cpus() noexcept;

/// Bytes of memory that this process may still take before the kernel would have to end somebody: what the machine has available
/// (MemAvailable of /proc/meminfo; where that is hidden, free memory only), or less where a control group (v2, its own or one above it)
/// leaves less. The largest number where neither can be read.
[[nodiscard]] std::uint64_t memory_left();

}  // namespace kvc::app
