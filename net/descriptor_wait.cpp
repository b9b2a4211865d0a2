#include "net/descriptor_wait.hpp"

#include <cassert>
#include <utility>

#include <boost/asio/cancellation_state.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace kvc::net {

std::shared_ptr<descriptor_wait> descriptor_wait::create(const asio::any_io_executor& executor, int descriptor) {
  return std::shared_ptr<descriptor_wait>(new descriptor_wait(executor, descriptor));
}

void descriptor_wait::arm(std::chrono::steady_clock::time_point deadline) {
  expired_ = false;
  sleeping_ = true;
  deadline_.expires_at(deadline);
  deadline_.async_wait([self = shared_from_this(), round = ++round_](const error_code& ec) {
    if (ec || !self->sleeping_ || self->round_ != round) return;
    self->expired_ = true;
    error_code ignored;
    self->descriptor_.cancel(ignored);
  });
}

asio::awaitable<error_code> descriptor_wait::sleep(std::shared_ptr<descriptor_wait> shared,
                                                   std::chrono::steady_clock::time_point deadline) {
  const asio::cancellation_state cancellation = co_await asio::this_coro::cancellation_state;
  if (cancellation.cancelled() != asio::cancellation_type::none) co_return make_error_code(errc::cancelled);
  if (shared->closed_) co_return make_error_code(errc::closed);
  if (deadline <= std::chrono::steady_clock::now()) co_return make_error_code(errc::timed_out);

  assert(!shared->sleeping_ && "one coroutine at a time sleeps on a descriptor");
  shared->arm(deadline);
  error_code woken;
  co_await shared->descriptor_.async_wait(asio::posix::stream_descriptor::wait_read, asio::redirect_error(asio::use_awaitable, woken));
  shared->sleeping_ = false;
  shared->deadline_.cancel();

  if (shared->closed_) co_return make_error_code(errc::closed);
  if (cancellation.cancelled() != asio::cancellation_type::none) co_return make_error_code(errc::cancelled);
  if (woken && shared->expired_) co_return make_error_code(errc::timed_out);
  if (woken && shared->second_stirred_) co_return error_code();
  co_return woken;
}

void descriptor_wait::listen_to(int second) {
  assert(!second_ && !closed_);
  second_ = std::make_unique<asio::posix::stream_descriptor>(descriptor_.get_executor(), second);
  wait_for_second();
}

void descriptor_wait::listen_again() {
  if (!std::exchange(second_stirred_, false) || closed_) return;
  wait_for_second();
}

void descriptor_wait::wait_for_second() {
  second_->async_wait(asio::posix::stream_descriptor::wait_read, [self = shared_from_this()](const error_code& ec) {
    if (ec || self->closed_) return;
    self->second_stirred_ = true;
    error_code ignored;
    if (self->sleeping_) self->descriptor_.cancel(ignored);
  });
}

void descriptor_wait::close() noexcept {
  if (closed_) return;
  closed_ = true;
  deadline_.cancel();
  if (descriptor_.is_open()) descriptor_.release();
  if (second_ && second_->is_open()) second_->release();
}

}  // namespace kvc::net
