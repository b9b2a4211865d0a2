// Memory that readers may still look at is given back only when every thread has passed a point at which it looks at nothing.
#pragma once

#include <cstddef>

namespace kvc::core {

/// While one of these lives on a thread, nothing that the thread could reach in a shared structure is freed.
///
/// Story: readers of the index follow plain pointers and take no lock. A writer that unlinks an object gives it to `retire`; it is freed
/// once every thread that was inside a scope at that time has left it, so no reader ever waits and no writer waits for a reader. Scopes
/// nest; entering costs one locked instruction on a cache line of the thread's own. A scope must not outlive the handler it is opened in:
/// an open scope holds back every free of the process. Thread-safety: each object belongs to one thread; any number of threads.
class quiescent_scope {
 public:
  quiescent_scope() noexcept;
  ~quiescent_scope();
  quiescent_scope(const quiescent_scope&) = delete;
  quiescent_scope& operator=(const quiescent_scope&) = delete;
};

/// Frees `object` by `free` when no scope open now is open any more: at some later call of `retire` on any thread, in batches,
/// some hundred objects at most in one call.
/// Preconditions: the object can no longer be reached by anyone who enters a scope from now on. `free` must not throw. Where there is no
/// memory to write the object down, not even after what could be freed was, it is lost, and never freed.
void retire(void* object, void (*free)(void*)) noexcept;

/// Frees what can be freed now; for tests and for measuring memory. Answers how many objects still wait on this thread.
std::size_t collect_retired();

}  // namespace kvc::core
