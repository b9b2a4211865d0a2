#include "net/short_turns.hpp"

#include <cstdint>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace kvc::net {
namespace {

/// As the kernel has it in its first version; the C library of older systems knows neither this nor the calls.
struct scheduling {
  std::uint32_t size = sizeof(scheduling);
  std::uint32_t policy = SCHED_OTHER;
  std::uint64_t flags = 0;
  std::int32_t nice = 0;
  std::uint32_t priority = 0;
  std::uint64_t runtime_ns = 0;
  std::uint64_t deadline_ns = 0;
  std::uint64_t period_ns = 0;
};
static_assert(sizeof(scheduling) == 48);

}  // namespace

void take_turns_of(std::chrono::microseconds length) noexcept {
#if defined(SYS_sched_getattr) && defined(SYS_sched_setattr)
  scheduling now;
  if (::syscall(SYS_sched_getattr, 0, &now, sizeof(now), 0) != 0) return;
  if (now.policy != SCHED_OTHER && now.policy != SCHED_BATCH) return;  // somebody chose otherwise on purpose
  now.runtime_ns = static_cast<std::uint64_t>(std::chrono::nanoseconds(length).count());
  static_cast<void>(::syscall(SYS_sched_setattr, 0, &now, 0));
#else
  static_cast<void>(length);
#endif
}

}  // namespace kvc::net
