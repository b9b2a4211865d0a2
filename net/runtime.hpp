// The lanes: one io_context and one thread per CPU, and all that belongs to each.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <ctime>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>

#include "core/catalog.hpp"
#include "core/counters.hpp"
#include "core/lane_names.hpp"
#include "net/batch_row.hpp"
#include "net/lane_beat.hpp"
#include "net/lane_turns.hpp"
#include "net/live_burst.hpp"
#include "net/receive_chunk.hpp"
#include "net/replay_gate.hpp"
#include "net/spare_lists.hpp"
#include "net/spare_pool.hpp"
#include "net/task_scope.hpp"

namespace kvc::net {

class aside_thread;
class evictable;
class name_source;
class runtime;

/// One CPU's share of the service. Everything a lane owns is touched on its thread only, unless it says otherwise.
class lane {
 public:
  lane(std::size_t index, const core::catalog& catalog, runtime& all)
      : index_(index), whole(&all), partitions(catalog.view()), tasks(context.get_executor()) {}

  [[nodiscard]] std::size_t index() const noexcept { return index_; }
  /// How long its thread has been on a CPU since it began; missing before that and once it has ended. Any thread.
  [[nodiscard]] std::optional<std::chrono::nanoseconds> cpu_time() const noexcept;
  /// The calling thread is the lane's from now on, until `leave_thread`.
  void enter_thread() noexcept;
  void leave_thread() noexcept { cpu_clock_.store(no_clock, std::memory_order_relaxed); }

 private:
  static constexpr clockid_t no_clock = -1;  ///< CLOCK_REALTIME is 0, and the kernel's numbers for threads are negative even ones

  std::size_t index_;
  std::atomic<clockid_t> cpu_clock_{no_clock};  ///< of its thread

 public:
  runtime* whole;  ///< all lanes
  // Before the context, with which those that wait in them are destroyed.
  lane_turns turns;     ///< of the streams
  replay_gate replays;  ///< of the streams, under way at once
  chunk_pool chunks;    ///< that streams receive into; this lane only
  asio::io_context context{1};
  lane_beat beat{context};                                                         ///< goes while the lane does
  std::shared_ptr<core::lane_names> names = std::make_shared<core::lane_names>();  ///< of the workers' blocks; this lane only
  spare_lists lists;                                                               ///< of events; this lane only
  spare_pool<live_burst, 32> bursts;                                               ///< of streams at work; this lane only
  spare_pool<batch_row, 8> batch_rows;                                             ///< the same
  std::vector<std::weak_ptr<evictable>> evictables;        ///< streams that may have to give up blocks; this lane only
  std::vector<std::weak_ptr<name_source>> name_sources;    ///< engines that pools may ask for names; this lane only
  core::lane_counters counters;                            ///< readable from anywhere
  core::published<core::catalog_view>::reader partitions;  ///< this lane's view of the catalog
  task_scope tasks;                                        ///< last: ends before what it uses
};

/// The lanes of the process.
///
/// Life cycle: construct, `start` (threads begin), ... `stop` (contexts stop once their work is gone or at once), `join`.
/// Thread-safety: `size` and `at` from anywhere after construction; the rest from the thread that made it.
class runtime {
 public:
  /// `lanes` at least 1.
  runtime(std::size_t lanes, const core::catalog& catalog);
  ~runtime();
  runtime(const runtime&) = delete;
  runtime& operator=(const runtime&) = delete;

  /// Starts one thread per lane, named `lane-0` ..., pinned to a CPU each when `pin` is set and there are enough CPUs.
  void start(bool pin);

  /// Cancels the tasks of every lane (`total`, then `terminal` once `patience` has passed), then lets the contexts run out and joins the
  /// threads. True when every task ended within the patience. Work beside the lanes that has not begun by then is refused; what has begun
  /// is waited for, one piece of each thread, as it uses what its task keeps. Must not be called from a lane.
  bool stop(std::chrono::steady_clock::duration patience);

  /// A thread beside the lanes that a stop closes, until it is forgotten.
  void keep(aside_thread& beside) { beside_.push_back(&beside); }
  void forget(aside_thread& beside) noexcept { std::erase(beside_, &beside); }

  [[nodiscard]] std::size_t size() const noexcept { return lanes_.size(); }
  [[nodiscard]] lane& at(std::size_t index) noexcept { return *lanes_[index]; }
  [[nodiscard]] const lane& at(std::size_t index) const noexcept { return *lanes_[index]; }

 private:
  struct keep_alive;
  bool all_leave(asio::cancellation_type how, std::chrono::steady_clock::duration patience);

  std::vector<aside_thread*> beside_;
  std::vector<std::unique_ptr<lane>> lanes_;
  std::vector<std::unique_ptr<keep_alive>> work_;
  std::vector<std::thread> threads_;
};

}  // namespace kvc::net
