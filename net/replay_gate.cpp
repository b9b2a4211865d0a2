#include "net/replay_gate.hpp"

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "net/errc.hpp"
#include "net/waiting_place.hpp"

namespace kvc::net {

/// A coroutine that waits. It leaves the queue by being called, by losing patience, by cancellation, or by being destroyed.
class replay_gate::place final : public waiting_place<place> {
 public:
  using waiting_place::waiting_place;
};

asio::awaitable<replay_gate::pass> replay_gate::enter() {
  if (inside_ >= room) {
    place mine(waiting_, co_await asio::this_coro::executor, std::chrono::steady_clock::now() + patience);
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
