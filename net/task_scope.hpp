// Owns every coroutine that is spawned: registers it, logs what it throws, cancels it, waits for it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <list>
#include <memory>
#include <string>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/steady_timer.hpp>

namespace kvc::net {

namespace asio = boost::asio;

/// The coroutines of one owner on one lane.
///
/// Problem: a coroutine that nobody owns outlives what it refers to, loses its exception, and cannot be stopped.
/// Life cycle: `spawn` any number; `cancel(total)` asks them to finish what they are doing and leave, `cancel(terminal)` to leave now;
/// `wait` until all have ended or the deadline passes. A task that throws is logged with its name and counted; it never takes the process
/// down. So is one that is lost, as Asio drops coroutines whose next operation finds no memory. The scope must outlive its tasks, so it is
/// the last member of its owner and the owner waits before it is destroyed; the destructor asserts that nothing is left.
/// Lane: all members are called on the executor's own thread.
class task_scope {
 public:
  explicit task_scope(asio::any_io_executor executor);
  ~task_scope();
  task_scope(const task_scope&) = delete;
  task_scope& operator=(const task_scope&) = delete;

  /// Starts `task` on the scope's executor. `name` appears in the log when it fails.
  /// After `cancel(terminal)` nothing is started any more and the task is dropped unrun. Throws std::bad_alloc, and has dropped
  /// it then.
  void spawn(std::string name, asio::awaitable<void> task);

  /// Asks every running task to stop. `total`: at its next safe point, and so each that is spawned later; `terminal`: now. One that has not
  /// begun is asked behind its first step.
  void cancel(asio::cancellation_type type);

  /// Completes when no task is left, or when `patience` has passed. True: all gone. Must itself run on the executor's thread and not
  /// inside a task of this scope.
  [[nodiscard]] asio::awaitable<bool> wait(std::chrono::steady_clock::duration patience);

  /// Whether the tasks have been asked to stop.
  [[nodiscard]] bool is_leaving() const noexcept { return is_leaving_; }
  [[nodiscard]] std::size_t running() const noexcept { return tasks_.size(); }
  [[nodiscard]] std::size_t failed() const noexcept { return failed_; }

 private:
  struct task;
  class ownership;
  using task_list = std::list<std::unique_ptr<task>>;
  static void tell(const std::string& name, const std::exception_ptr& failure) noexcept;
  void begun(std::uint64_t number);
  void all_begun(std::uint64_t newest);
  void note_begun(task& which);
  void ended(task_list::iterator which) noexcept;

  asio::any_io_executor executor_;
  asio::steady_timer all_gone_;
  task_list tasks_;
  std::size_t failed_ = 0;
  std::uint64_t spawned_ = 0;
  bool is_leaving_ = false;
  bool closed_ = false;
  /// For handlers, which may be destroyed later: null then.
  const std::shared_ptr<task_scope*> self_ = std::make_shared<task_scope*>(this);
};

}  // namespace kvc::net
