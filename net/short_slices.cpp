#include "net/short_slices.hpp"

#include <cstdint>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace kvc::net {
namespace {

/// The kernel's `sched_attr`, first version, which the C library does not tell of before glibc 2.41.
struct scheduling {
  std::uint32_t size = sizeof(scheduling);
  std::uint32_t policy = 0;  ///< SCHED_OTHER
  std::uint64_t flags = 0;
  std::int32_t nice = 0;
  std::uint32_t priority = 0;
  std::uint64_t runtime = 0;  ///< ns; of SCHED_OTHER the slice, see sched_setattr(2)
  std::uint64_t deadline = 0;
  std::uint64_t period = 0;
};

constexpr std::uint64_t reset_on_fork = 1;

}  // namespace

void ask_for_slices(std::chrono::nanoseconds length) noexcept {
  scheduling wanted;
  if (::syscall(SYS_sched_getattr, 0, &wanted, sizeof(wanted), 0) != 0 || wanted.policy != 0) return;  // somebody has decided otherwise
  wanted.size = sizeof(wanted);
  wanted.flags &= reset_on_fork;
  wanted.runtime = static_cast<std::uint64_t>(length.count());
  static_cast<void>(::syscall(SYS_sched_setattr, 0, &wanted, 0));
}

void give_way() noexcept {
  ::sched_yield();
}

short_slices::short_slices(std::chrono::nanoseconds length) noexcept {
  ask_for_slices(length);
}

short_slices::~short_slices() {
  ask_for_slices(std::chrono::nanoseconds(0));
}

}  // namespace kvc::net
