#include "net/lane_turns.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "net/errc.hpp"
#include "net/ready_sockets.hpp"
#include "net/short_slices.hpp"
#include "net/waiting_place.hpp"

namespace kvc::net {

/// A coroutine in the queue. It leaves by being called, by cancellation, or by being destroyed.
class lane_turns::place final : public waiting_place<place> {
 public:
  using waiting_place::waiting_place;
};

asio::awaitable<void> lane_turns::next() {
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  place mine(waiting_, executor, asio::steady_timer::time_point::max());
  if (!is_passing_) {
    asio::post(executor, [this, executor] { pass_on(executor); });
    is_passing_ = true;  // not before, since the post may throw
  }
  error_code woken;
  co_await mine.bell().async_wait(asio::redirect_error(asio::use_awaitable, woken));
  began_ = std::chrono::steady_clock::now();
}

// Whoever is called, and then the next hand-over, stand in the lane's queue behind whatever has become ready meanwhile. A socket's client
// may end the wait of any stream, so who is next is asked for behind it.
void lane_turns::pass_on(const asio::any_io_executor& executor) {
  if (waiting_.empty()) {
    is_passing_ = false;
    return;
  }
  // Without memory for another hand-over nobody would ever be called again: then all are, now, one behind the other.
  struct handing_over {
    explicit handing_over(lane_turns& whose) : of(&whose) {}
    ~handing_over() {
      if (of != nullptr) of->call_all();
    }
    handing_over(const handing_over&) = delete;
    handing_over& operator=(const handing_over&) = delete;
    lane_turns* of;
  };
  handing_over unless_posted(*this);
  give_way();
  if (sockets_ != nullptr) sockets_->look();
  if (!waiting_.empty()) waiting_.front()->call();
  asio::post(executor, [this, executor] { pass_on(executor); });
  unless_posted.of = nullptr;
}

void lane_turns::call_all() noexcept {
  is_passing_ = false;
  while (!waiting_.empty()) waiting_.front()->call();
}

}  // namespace kvc::net
