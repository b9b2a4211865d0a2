#include "perf/ingest_process.hpp"

#include <cerrno>
#include <cstdio>
#include <exception>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

namespace kvc::perf {

ingest_cpus choose_ingest_cpus() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (::sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return {};
  int first = -1;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed)) continue;
    if (first >= 0) return {first, cpu};
    first = cpu;
  }
  return {first < 0 ? 0 : first, first < 0 ? 0 : first};
}

void pin_to(int cpu) noexcept {
  cpu_set_t wanted;
  CPU_ZERO(&wanted);
  CPU_SET(static_cast<unsigned>(cpu), &wanted);
  static_cast<void>(::sched_setaffinity(0, sizeof(wanted), &wanted));
}

bool go_first() noexcept {
  const sched_param lowest{.sched_priority = 1};
  return ::sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &lowest) == 0;
}

void raise_file_limit() noexcept {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  static_cast<void>(::setrlimit(RLIMIT_NOFILE, &limit));
}

ingest_process::ingest_process(int cpu, const std::function<void()>& work) : child_(-1) {
  const pid_t parent = ::getpid();
  child_ = ::fork();
  if (child_ < 0) throw std::system_error(errno, std::generic_category(), "no process for the load");
  if (child_ > 0) return;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
  int status = 0;
  try {
    pin_to(cpu);
    work();
  } catch (const std::exception& fault) {
    std::fprintf(stderr, "kv-conductor-bench: %s\n", fault.what());
    status = 1;
  }
  ::_exit(status);
}

bool ingest_process::has_ended() noexcept {
  if (!has_ended_) has_ended_ = ::waitpid(child_, nullptr, WNOHANG) != 0;
  return has_ended_;
}

ingest_process::~ingest_process() {
  if (has_ended_) return;
  ::kill(child_, SIGKILL);
  while (::waitpid(child_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace kvc::perf
