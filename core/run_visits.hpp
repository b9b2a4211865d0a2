// What ends by itself, also when something throws: visits of runs, and marks on them.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <new>
#include <span>
#include <utility>

#include "core/run.hpp"
#include "core/run_store.hpp"

namespace kvc::core {

/// The blocks of a run that the caller has just visited. The visit comes first and the flag is read after it, so that a cut (see
/// `run_store::try_cut`) sees the visit or is waited for here.
inline std::span<const std::uint64_t> settled_blocks(run& visited) {
  if (visited.is_being_cut.load(std::memory_order_seq_cst)) {
    const std::lock_guard until_cut(visited.lock);
  }
  return visited.blocks();
}

/// Ends the caller's visit of a run that he pins in another way as well, unless it is kept.
class visit_guard {
 public:
  explicit visit_guard(run& visited) noexcept : visited_(&visited) {}
  visit_guard(const visit_guard&) = delete;
  visit_guard& operator=(const visit_guard&) = delete;
  ~visit_guard() {
    // Releasing: who sees no visit sees what was noted during it (see `run_store::try_cut`).
    if (visited_ != nullptr) visited_->pins.fetch_sub(run::one_visit, std::memory_order_release);
  }
  void keep() noexcept { visited_ = nullptr; }

 private:
  run* visited_;
};

/// The caller's visits of runs, one after the other, the last use of which may be his.
class visit_end {
 public:
  visit_end(run_store& runs, run* visited) noexcept : runs_(&runs), visited_(visited) {}
  visit_end(const visit_end&) = delete;
  visit_end& operator=(const visit_end&) = delete;
  ~visit_end() {
    try {
      end();
    } catch (const std::bad_alloc&) {  // while another one is on its way: what could not be given back is lost
    }
  }

  [[nodiscard]] bool is_any() const noexcept { return visited_ != nullptr; }
  void end() {
    if (visited_ != nullptr) runs_->leave(std::exchange(visited_, nullptr));
  }
  /// Precondition: the one before has ended.
  void take(run* visited) noexcept { visited_ = visited; }
  void keep() noexcept { visited_ = nullptr; }

 private:
  run_store* runs_;
  run* visited_;
};

/// Set while it lives.
class flag_guard {
 public:
  explicit flag_guard(std::atomic<bool>& flag) noexcept : flag_(&flag) { flag.store(true, std::memory_order_seq_cst); }
  flag_guard(const flag_guard&) = delete;
  flag_guard& operator=(const flag_guard&) = delete;
  ~flag_guard() { flag_->store(false, std::memory_order_release); }

 private:
  std::atomic<bool>* flag_;
};

}  // namespace kvc::core
