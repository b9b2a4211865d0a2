#include "net/task_scope.hpp"

#include <algorithm>
#include <cassert>
#include <exception>
#include <new>
#include <utility>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "net/log.hpp"

namespace kvc::net {

struct task_scope::task {
  std::string name;
  std::uint64_t number = 0;
  asio::cancellation_signal cancel;
  /// Before that it has not said which requests to leave it hears, and with Boost 1.83 one that it does hear is thrown to the lane.
  bool has_begun = false;
};

/// The handler of a task, which is its owner: called when the coroutine has ended, or destroyed with it. The latter where an operation
/// could not be begun for want of memory, as Asio tells that to nobody, and where the context goes before its tasks have ended.
class task_scope::ownership {
 public:
  ownership(std::shared_ptr<task_scope*> scope, task_list::iterator which) noexcept : scope_(std::move(scope)), which_(which) {}
  ownership(ownership&&) noexcept = default;
  ownership& operator=(ownership&&) = delete;
  ~ownership() {
    if (!scope_ || *scope_ == nullptr) return;
    ++(*scope_)->failed_;
    log::error(log::module::app, "task lost", {{"task", (*which_)->name}});
    end();
  }

  void operator()(const std::exception_ptr& failure) {
    if (failure) {
      ++(*scope_)->failed_;
      tell((*which_)->name, failure);
    }
    end();
  }
  /// The task is gone.
  void end() noexcept {
    const std::shared_ptr<task_scope*> scope = std::move(scope_);
    (*scope)->ended(which_);
  }

 private:
  std::shared_ptr<task_scope*> scope_;
  task_list::iterator which_;
};

task_scope::task_scope(asio::any_io_executor executor)
    : executor_(std::move(executor)), all_gone_(executor_, asio::steady_timer::time_point::max()) {}

task_scope::~task_scope() {
  assert(tasks_.empty() && "the owner must wait for its tasks before it is destroyed");
  *self_ = nullptr;
}

void task_scope::spawn(std::string name, asio::awaitable<void> work) {
  if (closed_) return;
  tasks_.push_back(std::make_unique<task>());
  const auto here = std::prev(tasks_.end());
  (*here)->name = std::move(name);
  const std::uint64_t number = (*here)->number = ++spawned_;
  asio::co_spawn(executor_, std::move(work), asio::bind_cancellation_slot((*here)->cancel.slot(), ownership(self_, here)));
  try {
    asio::post(executor_, [scope = self_, number] {  // behind its first step, with which it may end, and its owner go
      if (*scope != nullptr) (*scope)->begun(number);
    });
  } catch (const std::bad_alloc&) {
    if (is_leaving_) begun(number);  // else `cancel` makes up for it
  }
}

/// A task has failed. There may be no memory to say so.
void task_scope::tell(const std::string& name, const std::exception_ptr& failure) noexcept {
  try {
    std::rethrow_exception(failure);
  } catch (const std::exception& caught) {
    log::error(log::module::app, "task failed", {{"task", name}, {"reason", caught.what()}});
  } catch (...) {
    log::error(log::module::app, "task failed", {{"task", name}, {"reason", "not a standard exception"}});
  }
}

void task_scope::begun(std::uint64_t number) {
  // From the newest on, which it is or was: there may be as many tasks as connections.
  const auto found = std::find_if(tasks_.rbegin(), tasks_.rend(), [number](const auto& each) { return each->number <= number; });
  if (found == tasks_.rend() || (*found)->number != number) return;  // it has ended already
  note_begun(**found);
}

void task_scope::all_begun(std::uint64_t newest) {
  const std::shared_ptr<task_scope*> scope = self_;
  for (auto next = tasks_.begin(); next != tasks_.end() && (*next)->number <= newest;) {
    note_begun(**next++);           // it may end with it ...
    if (*scope == nullptr) return;  // ... and the owner of the scope go
  }
}

void task_scope::note_begun(task& which) {
  if (which.has_begun) return;
  which.has_begun = true;
  if (closed_) {
    which.cancel.emit(asio::cancellation_type::terminal);
  } else if (is_leaving_) {
    which.cancel.emit(asio::cancellation_type::total);
  }
}

void task_scope::ended(task_list::iterator which) noexcept {
  tasks_.erase(which);
  if (tasks_.empty()) all_gone_.cancel();
}

void task_scope::cancel(asio::cancellation_type type) {
  if (type == asio::cancellation_type::terminal) closed_ = true;
  if (type == asio::cancellation_type::total) is_leaving_ = true;
  bool have_all_begun = true;
  // A cancelled task may end, and spawn or erase others, inside emit: step past it first.
  for (auto next = tasks_.begin(); next != tasks_.end();) {
    const auto current = next++;
    if ((*current)->has_begun) {
      (*current)->cancel.emit(type);
    } else {
      have_all_begun = false;
    }
  }
  if (have_all_begun) return;
  // Each of them is told by what was posted when it was spawned, but for those for which there was no memory then.
  try {
    asio::post(executor_, [scope = self_, newest = spawned_] {
      if (*scope != nullptr) (*scope)->all_begun(newest);
    });
  } catch (const std::bad_alloc&) {
    all_begun(spawned_);
  }
}

asio::awaitable<bool> task_scope::wait(std::chrono::steady_clock::duration patience) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (!tasks_.empty() && std::chrono::steady_clock::now() < deadline) {
    boost::system::error_code woken;
    all_gone_.expires_at(deadline);
    co_await all_gone_.async_wait(asio::redirect_error(asio::use_awaitable, woken));
  }
  co_return tasks_.empty();
}

}  // namespace kvc::net
