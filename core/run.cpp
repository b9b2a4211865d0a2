#include "core/run.hpp"

#include <algorithm>
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

void run_column::note_mark(std::uint32_t which, std::uint64_t value) const noexcept {
  std::atomic_ref(*mark_at(which)).store(value, std::memory_order_relaxed);
  auto known = static_cast<std::uint16_t>(which);
  // Where the count is another one by now, somebody else writes the same marks. If he stops before this one it is found out once more.
  marked.compare_exchange_strong(known, static_cast<std::uint16_t>(which + 1), std::memory_order_release, std::memory_order_relaxed);
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
  const std::uint32_t wanted = marks_of(offset + 1);
  std::uint32_t marks = std::min<std::uint32_t>(wanted, column.marked.load(std::memory_order_acquire));
  seq_hash rolled = marks == 0 ? first : seq_hash{column.mark(marks - 1)};
  std::uint32_t next = marks == 0 ? 1 : blocks_of_marks(marks);
  for (; marks < wanted; ++marks) {
    for (const std::uint32_t end = blocks_of_marks(marks + 1); next < end; ++next)
      rolled = roll(rolled, local_hash{column.locals()[next]}, seed);
    column.note_mark(marks, rolled.get());
  }
  for (; next <= offset; ++next) rolled = roll(rolled, local_hash{column.locals()[next]}, seed);
  return rolled;
}

}  // namespace kvc::core
