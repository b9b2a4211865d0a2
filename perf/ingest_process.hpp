// Processes of one measurement and the CPUs they run on.
#pragma once

#include <functional>
#include <sys/types.h>

namespace kvc::perf {

/// The CPUs of a measurement: one for the server with all of its threads, another for everybody else. Both the same where there is only
/// one.
struct ingest_cpus {
  int server = 0;
  int load = 0;
};

/// The first two CPUs this process may use.
[[nodiscard]] ingest_cpus choose_ingest_cpus();

/// Pins the calling thread, and the threads it will start.
void pin_to(int cpu) noexcept;

/// Lets the calling thread run as soon as it is ready, whatever else its CPU has to do, where the system permits it (SCHED_FIFO, without
/// the threads it starts). Returns whether it does.
bool go_first() noexcept;

/// Raises the soft limit of open files to the hard one: every stream takes several.
void raise_file_limit() noexcept;

/// A forked process that does one thing on one CPU. It ends when its work is done, when it is told to, or with its parent.
class ingest_process {
 public:
  /// Forks. No other thread may be running. Throws std::system_error.
  ingest_process(int cpu, const std::function<void()>& work);
  /// Ends it if it is still there.
  ~ingest_process();
  ingest_process(const ingest_process&) = delete;
  ingest_process& operator=(const ingest_process&) = delete;

  /// Whether it has ended, with whatever outcome.
  [[nodiscard]] bool has_ended() noexcept;

 private:
  pid_t child_;
  bool has_ended_ = false;
};

}  // namespace kvc::perf
