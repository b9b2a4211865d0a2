#include "net/replay_gate.hpp"

#include <iterator>

#include <boost/asio/cancellation_state.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "net/errc.hpp"
#include "net/waiting_place.hpp"

namespace kvc::net {

/// A coroutine that waits. It leaves the line when it goes in, by cancellation, or by being destroyed.
class replay_gate::place final : public waiting_place<place> {
 public:
  place(std::list<place*>& line, const asio::any_io_executor& executor, visitor& whose)
      : waiting_place(line, executor, clock::time_point::max()), whose_(whose) {
    whose_.waits_at_ = this;
  }
  ~place() { whose_.waits_at_ = nullptr; }
  place(const place&) = delete;
  place& operator=(const place&) = delete;

 private:
  visitor& whose_;
};

/// Whoever comes to stand first is to look for himself, however those before him have gone: each has only been told to wait for that.
class replay_gate::line_end {
 public:
  explicit line_end(replay_gate& of) noexcept : gate_(of) {}
  ~line_end() { gate_.wake_first(); }
  line_end(const line_end&) = delete;
  line_end& operator=(const line_end&) = delete;

 private:
  replay_gate& gate_;
};

void replay_gate::visitor::leave() noexcept {
  is_leaving_ = true;
  if (waits_at_ != nullptr) waits_at_->bell().cancel();
}

asio::awaitable<replay_gate::pass> replay_gate::enter(visitor& who) {
  const asio::cancellation_state cancellation = co_await asio::this_coro::cancellation_state;
  const line_end moving_up(*this);  // behind the place, and the pass
  if (!waiting_.empty() || clock::now() < room_from()) {
    place mine(waiting_, co_await asio::this_coro::executor, who);
    while (!who.is_leaving_ && cancellation.cancelled() == asio::cancellation_type::none) {
      const bool is_first = waiting_.front() == &mine;
      if (is_first && clock::now() >= room_from()) break;
      mine.bell().expires_at(is_first ? room_from() : clock::time_point::max());
      error_code woken;
      co_await mine.bell().async_wait(asio::redirect_error(asio::use_awaitable, woken));
    }
  }
  co_return pass(*this);
}

void replay_gate::leave(std::list<clock::time_point>::iterator entered) noexcept {
  entered_.erase(entered);
  wake_first();
}

void replay_gate::wake_first() noexcept {
  if (!waiting_.empty()) waiting_.front()->bell().cancel();
}

replay_gate::clock::time_point replay_gate::room_from() const noexcept {
  if (entered_.size() < room) return clock::time_point::min();
  return *std::prev(entered_.end(), room) + patience;
}

}  // namespace kvc::net
