// Sleeping until a descriptor that somebody else owns stirs, a deadline passes, or the coroutine is cancelled.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include "net/errc.hpp"

namespace kvc::net {

namespace asio = boost::asio;

/// A borrowed descriptor and one timer. Held by shared_ptr: the timer's handler and a pending wait each keep a share, so its owner may go
/// while they are still on their way.
///
/// Life cycle: `create`; any number of waits, one at a time; `close` before the descriptor's owner closes the number.
/// Lane: all members on the executor's thread.
class descriptor_wait : public std::enable_shared_from_this<descriptor_wait> {
 public:
  [[nodiscard]] static std::shared_ptr<descriptor_wait> create(const asio::any_io_executor& executor, int descriptor);
  ~descriptor_wait() { close(); }
  descriptor_wait(const descriptor_wait&) = delete;
  descriptor_wait& operator=(const descriptor_wait&) = delete;

  /// Sleeps until the descriptor of `shared` becomes readable. Success means only "look again".
  /// Precondition: no other wait is pending on it.
  /// Cancellation: whichever types the calling coroutine lets through (asio's default is terminal only) end the sleep at once; a coroutine
  /// that is cancelled already does not go to sleep.
  /// Errors: `timed_out`, `cancelled`, `closed`.
  [[nodiscard]] static asio::awaitable<error_code> sleep(std::shared_ptr<descriptor_wait> shared,
                                                         std::chrono::steady_clock::time_point deadline);

  /// Ends a pending sleep with `closed` and forgets the descriptor without closing it.
  void close() noexcept;

 private:
  descriptor_wait(const asio::any_io_executor& executor, int descriptor) : descriptor_(executor, descriptor), deadline_(executor) {}
  void arm(std::chrono::steady_clock::time_point deadline);

  asio::posix::stream_descriptor descriptor_;
  asio::steady_timer deadline_;
  std::uint64_t round_ = 0;  ///< counts sleeps, so that a late timer cannot end the next one
  bool sleeping_ = false;
  bool expired_ = false;
  bool closed_ = false;
};

}  // namespace kvc::net
