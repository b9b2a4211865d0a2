#include "net/replay_gate.hpp"

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "net/errc.hpp"

namespace kvc::net {

/// A coroutine that waits. It leaves the queue by being called, by losing patience, by cancellation, or by being destroyed.
class replay_gate::place {
 public:
  place(std::list<place*>& queue, const asio::any_io_executor& executor)
      : queue_(queue), bell_(executor, patience), at_(queue.insert(queue.end(), this)) {}
  ~place() { leave(); }
  place(const place&) = delete;
  place& operator=(const place&) = delete;

  [[nodiscard]] asio::steady_timer& bell() noexcept { return bell_; }
  void call() {
    leave();
    bell_.cancel();
  }

 private:
  void leave() noexcept {
    if (is_listed_) queue_.erase(at_);
    is_listed_ = false;
  }

  std::list<place*>& queue_;
  asio::steady_timer bell_;
  std::list<place*>::iterator at_;
  bool is_listed_ = true;
};

asio::awaitable<replay_gate::pass> replay_gate::enter() {
  if (inside_ >= room) {
    place mine(waiting_, co_await asio::this_coro::executor);
    error_code woken;
    co_await mine.bell().async_wait(asio::redirect_error(asio::use_awaitable, woken));
  }
  co_return pass(*this);
}

// Whoever comes before the one that was called has woken makes it one more for a moment: `room` is a measure, not a promise.
void replay_gate::leave() noexcept {
  --inside_;
  if (inside_ < room && !waiting_.empty()) waiting_.front()->call();
}

}  // namespace kvc::net
