#include "core/run.hpp"

#include <sched.h>

#include "core/block_hasher.hpp"

namespace kvc::core {
namespace {

constexpr unsigned spins_before_yield = 1'000;  ///< some ten times longer than the longest stretch of work under the lock

inline void pause() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

void spin_lock::lock() noexcept {
  while (taken_.exchange(true, std::memory_order_acquire)) {
    for (unsigned spins = 0; taken_.load(std::memory_order_relaxed); ++spins) {
      if (spins < spins_before_yield) {
        pause();
      } else {
        ::sched_yield();  // the holder has lost its CPU, which happens where there are more lanes than CPUs
      }
    }
  }
}

bool run::try_visit() noexcept {
  std::uint64_t now = pins.load(std::memory_order_relaxed);
  while (now != 0) {
    if (pins.compare_exchange_weak(now, now + one_visit, std::memory_order_seq_cst)) return true;
  }
  return false;
}

seq_hash seq_hash_at(const run& in, std::uint32_t offset, std::uint64_t seed) {
  return seq_hash_in(*in.column.load(std::memory_order_acquire), in.first_hash, offset, seed);
}

seq_hash seq_hash_in(const run_column& column, seq_hash first, std::uint32_t offset, std::uint64_t seed) {
  const std::uint32_t marks = marks_of(offset + 1);
  seq_hash rolled = marks == 0 ? first : seq_hash{column.marks()[marks - 1]};
  for (std::uint32_t i = marks == 0 ? 1 : blocks_of_marks(marks); i <= offset; ++i) {
    rolled = roll(rolled, local_hash{column.locals()[i]}, seed);
  }
  return rolled;
}

}  // namespace kvc::core
