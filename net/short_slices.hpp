// Short turns on a shared CPU, for threads that are waited for.
#pragma once

#include <chrono>

namespace kvc::net {

inline constexpr std::chrono::microseconds shortest_slice{100};

/// While it lives, the calling thread and the threads it starts ask the kernel for slices of `length`, between 0.1 and 100 ms; afterwards
/// the calling thread has the kernel's own again, the others keep theirs. Linux from 6.12 on lets a thread with a shorter slice in as soon
/// as it is ready, where it would otherwise wait for the running one's slice to end, seen at the next tick: 4 ms at 250 Hz. Its share of
/// the CPU stays the same. Where the kernel knows nothing of it, nothing happens. Needs no privilege. (Source: sched_setattr(2) and the
/// kernel's documentation of its EEVDF scheduler.)
class short_slices {
 public:
  explicit short_slices(std::chrono::nanoseconds length) noexcept;
  ~short_slices();
  short_slices(const short_slices&) = delete;
  short_slices& operator=(const short_slices&) = delete;
};

/// Asks for slices of `length` for the calling thread from now on; zero: the kernel's own. Same limits.
void ask_for_slices(std::chrono::nanoseconds length) noexcept;

/// Lets other threads that wait for this CPU have it first; returns at once where none does. To be called now and then by a thread that
/// never waits, between two pieces of its work. It costs the caller up to a slice of its share of the CPU (Linux from 6.18 on), so that it
/// should have asked for short ones.
void give_way() noexcept;

}  // namespace kvc::net
