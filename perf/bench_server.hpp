// The real server in a process of its own, on one CPU, as what is measured over HTTP.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <sys/types.h>
#include <vector>

namespace kvc::perf {

/// A server that was started, listens on one port of 127.0.0.1 with one lane, and is stopped at the end.
class bench_server {
 public:
  struct place {
    std::string program;  ///< path of kv-conductor
    int cpu = 0;          ///< it may run nowhere else, as under taskset; below 0: anywhere
  };

  /// Waits until it listens, at most 30 s. Throws std::runtime_error when it does not.
  bench_server(const place& where, std::vector<std::string> flags);
  ~bench_server();
  bench_server(const bench_server&) = delete;
  bench_server& operator=(const bench_server&) = delete;

  /// Asks it to stop and waits, at most 30 s; its exit code, or -1 when it had to be ended.
  int stop();

  [[nodiscard]] pid_t pid() const noexcept { return pid_; }
  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
  /// Seconds of CPU it has used so far, in the kernel too.
  [[nodiscard]] double cpu_seconds() const;
  /// Milliseconds that its threads were ready to run and had to wait for the CPU so far: for each other, or for others on the machine.
  [[nodiscard]] double waited_ms() const;
  /// Resident bytes of the whole process, by the sum of its pages (smaps_rollup), program text and libraries included.
  [[nodiscard]] std::size_t resident_bytes() const;

 private:
  pid_t pid_ = -1;
  int output_ = -1;
  std::uint16_t port_ = 0;
};

/// Keeps the calling process on one CPU. False when the system does not allow it.
bool stay_on_cpu(int cpu) noexcept;

}  // namespace kvc::perf
