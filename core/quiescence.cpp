#include "core/quiescence.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <new>

namespace kvc::core {
namespace {

constexpr std::uint64_t outside = 0;
constexpr std::size_t retired_per_collection = 128;  ///< looking at every thread's slot is paid for by this many objects
/// A scope that was open for long may leave any number behind: no more of them go at once than take some 20 us ...
constexpr std::size_t freed_per_collection = 512;
constexpr std::size_t retired_while_more_wait = 16;  ///< ... but the next ones soon, many more than come meanwhile

struct retired_object {
  void* object;
  void (*free)(void*);
  std::uint64_t epoch;
};

/// What one thread tells the others. Slots are reused by later threads and never freed.
struct alignas(64) thread_slot {
  std::atomic<std::uint64_t> inside{outside};  ///< epoch at which the thread entered its outermost scope
  std::atomic<bool> taken{true};
  thread_slot* next = nullptr;
};

struct domain {
  std::atomic<std::uint64_t> epoch{1};
  std::atomic<thread_slot*> slots{nullptr};
  std::mutex leftover_lock;
  std::deque<retired_object> leftover;  ///< of threads that have ended

  thread_slot& take_slot() {
    for (thread_slot* each = slots.load(std::memory_order_acquire); each != nullptr; each = each->next) {
      bool free = false;
      if (each->taken.compare_exchange_strong(free, true)) return *each;
    }
    auto* made = new thread_slot;
    made->next = slots.load(std::memory_order_relaxed);
    while (!slots.compare_exchange_weak(made->next, made, std::memory_order_acq_rel)) continue;
    return *made;
  }

  /// One epoch further, if every thread that is inside has seen the present one.
  void try_advance() {
    std::uint64_t now = epoch.load(std::memory_order_seq_cst);
    for (const thread_slot* each = slots.load(std::memory_order_acquire); each != nullptr; each = each->next) {
      const std::uint64_t inside = each->inside.load(std::memory_order_seq_cst);
      if (inside != outside && inside != now) return;
    }
    epoch.compare_exchange_strong(now, now + 1, std::memory_order_seq_cst);
  }

  /// Frees what was retired at least two epochs ago, since nobody who could have seen it is inside any more, but no more than `most`
  /// objects. True when there is no more of it.
  bool free_old(std::deque<retired_object>& objects, std::size_t most) {
    const std::uint64_t now = epoch.load(std::memory_order_seq_cst);
    for (; !objects.empty() && objects.front().epoch + 2 <= now; --most) {
      if (most == 0) return false;
      const retired_object old = objects.front();
      objects.pop_front();  // first, since freeing may retire more
      old.free(old.object);
    }
    return true;
  }
};

/// Never destroyed: threads may end after the statics are gone.
domain& shared() {
  static domain& only = *new domain;
  return only;
}

struct thread_part {
  thread_slot* slot = &shared().take_slot();
  std::size_t depth = 0;
  std::deque<retired_object> retired;
  std::size_t until_collection = retired_per_collection;

  thread_part() = default;
  thread_part(const thread_part&) = delete;
  thread_part& operator=(const thread_part&) = delete;
  ~thread_part() {
    {
      const std::lock_guard lock(shared().leftover_lock);
      while (!retired.empty() && note(shared().leftover, retired.front())) retired.pop_front();
    }
    slot->taken.store(false, std::memory_order_release);
  }

  /// False: there is no memory for it, and nothing has changed.
  static bool note(std::deque<retired_object>& in, const retired_object& what) noexcept {
    try {
      in.push_back(what);
      return true;
    } catch (const std::bad_alloc&) {
      return false;
    }
  }

  /// False when there is more that could be freed now.
  bool collect() {
    until_collection = retired_per_collection;  // first, since freeing may retire more
    shared().try_advance();
    const bool is_all = shared().free_old(retired, freed_per_collection);
    if (!is_all) until_collection = std::min(until_collection, retired_while_more_wait);
    return adopt_leftover() && is_all;
  }

  /// Takes over some of what threads have left behind that have ended. They come from several of them and need not be in order, so each
  /// goes through the ordinary rule from the present epoch on. False when there is more of it.
  bool adopt_leftover() {
    auto& leftover = shared().leftover;
    const std::unique_lock lock(shared().leftover_lock, std::try_to_lock);
    if (!lock) return true;  // somebody else is at it
    const std::size_t some = std::min(leftover.size(), freed_per_collection);
    const std::uint64_t now = shared().epoch.load(std::memory_order_seq_cst);
    for (std::size_t i = 0; i < some; ++i, leftover.pop_front()) {
      if (!note(retired, {leftover.front().object, leftover.front().free, now})) return true;  // not now
    }
    return leftover.empty();
  }
};

thread_part& mine() {
  thread_local thread_part part;
  return part;
}

}  // namespace

quiescent_scope::quiescent_scope() noexcept {
  thread_part& self = mine();
  if (self.depth++ != 0) return;
  // What is read inside must be read after the others can see that we are inside.
  self.slot->inside.exchange(shared().epoch.load(std::memory_order_relaxed), std::memory_order_seq_cst);
#if !defined(__x86_64__)
  std::atomic_thread_fence(std::memory_order_seq_cst);  // an exchange is a full barrier on x86-64 only
#endif
}

quiescent_scope::~quiescent_scope() {
  thread_part& self = mine();
  if (--self.depth == 0) self.slot->inside.store(outside, std::memory_order_release);
}

void retire(void* object, void (*free)(void*)) noexcept {
  thread_part& self = mine();
  // The store that took the object out of reach may still wait in this processor's buffer: a reader that comes after the epoch has moved on
  // would find the object, and not be waited for.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  const retired_object gone{object, free, shared().epoch.load(std::memory_order_seq_cst)};
  if (!thread_part::note(self.retired, gone)) {
    self.collect();                               // what it frees is mostly more than is needed here
    (void)thread_part::note(self.retired, gone);  // else it is lost: whoever has unlinked half of something must not be stopped there
  }
  if (--self.until_collection == 0) self.collect();
}

std::size_t collect_retired() {
  thread_part& self = mine();
  for (int i = 0; i < 3; ++i) {
    while (!self.collect()) continue;
  }
  return self.retired.size();
}

}  // namespace kvc::core
