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

/// A borrowed descriptor, perhaps a second one, and one timer. Held by shared_ptr: the timer's handler and a pending wait each keep a
/// share, so its owner may go while they are still on their way.
///
/// The second descriptor is one on which little happens, beside the first on which much does: it is waited for once and not at every sleep.
/// That it stirred ends the sleep of that moment and is remembered until `listen_again`.
/// Life cycle: `create`, perhaps `listen_to`; any number of waits, one at a time; `close` before the descriptors' owner closes the numbers.
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

  /// Waits for a second descriptor from now on. Precondition: there is none, and this is not closed.
  void listen_to(int second);
  /// Whether the second descriptor has become readable since it was waited for last; no sleep ends for it again until `listen_again`.
  [[nodiscard]] bool has_second_stirred() const noexcept { return second_stirred_; }
  /// To be called when all that could be read there was read. Does nothing unless it has stirred.
  void listen_again();

  /// Ends a pending sleep with `closed` and forgets the descriptors without closing them.
  void close() noexcept;

 private:
  descriptor_wait(const asio::any_io_executor& executor, int descriptor) : descriptor_(executor, descriptor), deadline_(executor) {}
  void arm(std::chrono::steady_clock::time_point deadline);
  void wait_for_second();

  asio::posix::stream_descriptor descriptor_;
  std::unique_ptr<asio::posix::stream_descriptor> second_;
  asio::steady_timer deadline_;
  std::uint64_t round_ = 0;  ///< counts sleeps, so that a late timer cannot end the next one
  bool sleeping_ = false;
  bool expired_ = false;
  bool closed_ = false;
  bool second_stirred_ = false;
};

}  // namespace kvc::net
