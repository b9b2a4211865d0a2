// What this process takes of its machine, as the kernel tells it.
#pragma once

#include <cstdint>
#include <optional>

namespace kvc::net {

/// Each value is missing where the kernel does not tell it (a /proc that is hidden, say).
struct process_usage {
  std::optional<double> cpu_seconds;              ///< of all threads, in user and system mode, since the start
  std::optional<std::uint64_t> resident_bytes;    ///< in memory just now
  std::optional<std::uint64_t> virtual_bytes;     ///< mapped, used or not
  std::optional<std::uint64_t> open_descriptors;  ///< connections, sockets of streams, files
  std::optional<std::uint64_t> most_descriptors;  ///< beyond this neither a connection nor a stream finds a place; missing: no bound
};

/// Asks the kernel (getrusage, getrlimit, /proc/self/statm, /proc/self/fd). Any thread; takes some 20 us, and before Linux 6.2, where the
/// open descriptors have to be counted one by one, up to 1 ms for each 1,000 of them. Never throws.
[[nodiscard]] process_usage process_usage_now() noexcept;

}  // namespace kvc::net
