// How long a thread keeps a CPU that others want, too.
#pragma once

#include <chrono>

namespace kvc::net {

/// What lanes and the transport's threads ask for: a few batches of events, or a few queries.
inline constexpr std::chrono::microseconds usual_turn{200};

/// Asks the system to take turns of this length when the calling thread, or a thread made by it later, shares its CPU. On a CPU with a
/// saturated lane and the thread that receives for it, a query otherwise waits for whole turns of the other, some 3 ms on Linux. Needs no
/// privilege; without effect before Linux 6.12, where turns are all of one length (sched(7) and the kernel's "EEVDF Scheduler",
/// sched_attr::sched_runtime for SCHED_OTHER, 0.1 to 100 ms). Any thread.
void take_turns_of(std::chrono::microseconds length) noexcept;

}  // namespace kvc::net
