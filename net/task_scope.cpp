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
  class ending;

  std::string name;
  std::uint64_t number = 0;
  asio::cancellation_signal cancel;
  bool has_begun = false;  ///< before that it has not said which requests to leave it hears
  std::shared_ptr<const bool> is_listed = std::make_shared<bool>(true);  ///< gone with it, and with its scope
};

task_scope::task_scope(asio::any_io_executor executor)
    : executor_(std::move(executor)), all_gone_(executor_, asio::steady_timer::time_point::max()) {}

task_scope::~task_scope() { assert(tasks_.empty() && "the owner must wait for its tasks before it is destroyed"); }

/// The owner of a task: called once on the executor, however the coroutine ended, or destroyed without a call when it never will.
class task_scope::task::ending {
 public:
  using place = std::list<std::unique_ptr<task>>::iterator;

  ending(task_scope& scope, place which) : scope_(&scope), listed_((*which)->is_listed), which_(which) {}
  ending(ending&& other) noexcept
      : scope_(std::exchange(other.scope_, nullptr)), listed_(std::move(other.listed_)), which_(other.which_) {}
  ending& operator=(ending&&) = delete;
  ending(const ending&) = delete;
  ending& operator=(const ending&) = delete;
  /// Asio destroys a coroutine when it cannot begin a wait, for want of memory, and says so to nobody. Where a context destroys what is
  /// left at its own end, the scope may have gone before.
  ~ending() {
    if (scope_ == nullptr || listed_.expired()) return;
    ++scope_->failed_;
    tell((*which_)->name, "destroyed before its end");
    scope_->ended(which_);
  }

  void operator()(const std::exception_ptr& failure) {
    task_scope& scope = *std::exchange(scope_, nullptr);
    if (failure) scope.note_failure(**which_, failure);
    scope.ended(which_);
  }

 private:
  task_scope* scope_;  ///< null: nothing is left to do
  std::weak_ptr<const bool> listed_;
  place which_;
};

void task_scope::spawn(std::string name, asio::awaitable<void> work) {
  if (closed_) return;
  tasks_.push_back(std::make_unique<task>());
  const auto here = std::prev(tasks_.end());
  (*here)->name = std::move(name);
  (*here)->number = ++spawned_;
  try {
    // The handler is the owner: it runs once on the executor, whatever way the coroutine ended.
    asio::co_spawn(executor_, std::move(work),
                   asio::bind_cancellation_slot((*here)->cancel.slot(), [this, here](std::exception_ptr failure) {
                     if (failure) note_failure(**here, failure);
                     ended(here);
                   }));
  } catch (...) {
    tasks_.erase(here);  // it does not run, and nobody must wait for it
    throw;
  }
  try {
    // Behind its first step, which was posted just now.
    asio::post(executor_, [this, number = (*here)->number] { begun(number); });
  } catch (const std::bad_alloc&) {
    (*here)->has_begun = true;  // it runs: better that it is told to leave a moment too early, in which case it may not hear, than never
  }
}

void task_scope::note_failure(const task& which, const std::exception_ptr& failure) noexcept {
  ++failed_;
  try {
    std::rethrow_exception(failure);
  } catch (const std::exception& caught) {
    tell(which.name, caught.what());
  } catch (...) {
    tell(which.name, "not a standard exception");
  }
}

void task_scope::tell(const std::string& name, const char* reason) noexcept {
  try {
    log::error(log::module::app, "task failed", {{"task", name}, {"reason", reason}});
  } catch (...) {
    // There is no memory for the line. That the task has ended matters more.
  }
}

void task_scope::begun(std::uint64_t number) {
  // From the newest on, which it is or was: there may be as many tasks as connections.
  const auto found = std::find_if(tasks_.rbegin(), tasks_.rend(), [number](const auto& each) { return each->number <= number; });
  if (found == tasks_.rend() || (*found)->number != number) return;  // it has ended already
  (*found)->has_begun = true;
  if (is_leaving_) (*found)->cancel.emit(asio::cancellation_type::total);
}

void task_scope::ended(std::list<std::unique_ptr<task>>::iterator which) {
  tasks_.erase(which);
  if (tasks_.empty()) all_gone_.cancel();
}

void task_scope::cancel(asio::cancellation_type type) {
  if (type == asio::cancellation_type::terminal) closed_ = true;
  if (type == asio::cancellation_type::total) is_leaving_ = true;
  // A cancelled task may end, and spawn or erase others, inside emit: step past it first.
  for (auto next = tasks_.begin(); next != tasks_.end();) {
    const auto current = next++;
    if ((*current)->has_begun || type != asio::cancellation_type::total) (*current)->cancel.emit(type);
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
