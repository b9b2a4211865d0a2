// Awaitable multipart messages over ZeroMQ sockets. The only file that knows that libzmq's descriptor is edge-triggered, and with
// zmq_engine and zmq_monitor the only one that knows libzmq.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include "net/connection_seen.hpp"
#include "net/errc.hpp"
#include "net/zmq_engine.hpp"

namespace kvc::net {

namespace asio = boost::asio;

/// One received multipart message, empty and without memory before the first. Reuse one object for many receptions. Frame views are valid
/// until the next reception into it.
class zmq_message {
 public:
  zmq_message() noexcept;
  ~zmq_message();
  zmq_message(zmq_message&&) noexcept;
  zmq_message& operator=(zmq_message&&) noexcept;

  [[nodiscard]] std::size_t size() const noexcept;                                   ///< number of frames
  [[nodiscard]] std::span<const std::byte> frame(std::size_t index) const noexcept;  ///< precondition: index < size()
  void clear() noexcept;  ///< gives back the memory of the frames, however large they were, instead of at the next reception

 private:
  friend class zmq_socket;
  struct state;
  std::unique_ptr<state> state_;
};

struct zmq_options {
  int receive_high_water = 1000;            ///< messages queued before the transport drops or blocks; 0: no limit
  int send_high_water = 1000;               ///< the same for sending
  std::int64_t max_frame_bytes = 64 << 20;  ///< a peer that sends a larger frame is disconnected; -1: no limit
  int reconnect_ms = 100;                   ///< first pause between attempts
  int reconnect_max_ms = 2'000;             ///< the pause doubles up to this
  bool watch_connection = false;            ///< keep track of connects and disconnects, see `connected`
};

/// One socket, used on one lane.
///
/// `receive` and `send` try first and wait on the descriptor only when the socket would block. The descriptor is only a hint: it is
/// edge-triggered and shared by both directions, so after every wake-up and before every sleep the socket's own event flags are asked
/// (libzmq issues 3641 and 1434). Only one coroutine may wait on a socket at a time.
/// Lane: all members, and the executor given at opening, belong to one thread.
class zmq_socket {
 public:
  /// A `heeding_publisher` receives who comes and goes: messages of one frame, a 1 and the prefix for each subscription, a 0 and the
  /// prefix when the last one has ended. What is sent while one stands reaches it, unless its connection breaks.
  enum class kind : std::uint8_t { subscriber, publisher, dealer, router, heeding_publisher };

  /// Throws std::bad_alloc, or boost::system::system_error when the engine has no socket left or the process no descriptor.
  zmq_socket(zmq_engine& engine, asio::any_io_executor executor, kind what, zmq_options options = {});
  /// The same for those who go on without one: what the system refused is answered, and `into` is empty then.
  [[nodiscard]] static error_code open(std::optional<zmq_socket>& into, zmq_engine& engine, asio::any_io_executor executor, kind what,
                                       zmq_options options = {});
  ~zmq_socket();
  zmq_socket(zmq_socket&&) noexcept;
  zmq_socket& operator=(zmq_socket&&) noexcept;

  [[nodiscard]] error_code connect(const std::string& endpoint);
  /// `address_in_use` also where a file lies at the path of an `ipc://` endpoint, or somebody listens there.
  [[nodiscard]] error_code bind(const std::string& endpoint);
  /// The endpoint really bound, e.g. tcp://127.0.0.1:41001 after binding tcp://127.0.0.1:*.
  [[nodiscard]] std::string bound_endpoint() const;
  /// Subscribers only: messages whose first frame starts with `prefix`.
  [[nodiscard]] error_code subscribe(std::string_view prefix);

  /// Takes a whole message if there is one. `would_block` when there is none. A message of more than 64 frames is read to its end and
  /// reported as `bad_frame_count`. Throws std::bad_alloc.
  [[nodiscard]] error_code try_receive(zmq_message& into);

  /// Waits for a message until `deadline`. Errors: `timed_out`, `cancelled`, `closed`, `bad_frame_count`.
  /// Lifetime: `into` and the socket must outlive the wait.
  /// Cancellation: every type that the calling coroutine lets through (asio's default is terminal only) ends the wait at once; nothing
  /// received is lost.
  [[nodiscard]] asio::awaitable<error_code> receive(zmq_message& into, std::chrono::steady_clock::time_point deadline);

  /// Waits until there may be something for `try_receive`, or `has_notices`, or until `deadline`; takes nothing. Asks the transport once
  /// where `receive` asks it twice, for who waits mostly in vain. Errors: `timed_out`, `cancelled`, `closed`. Lifetime and cancellation as
  /// `receive`.
  [[nodiscard]] asio::awaitable<error_code> wait(std::chrono::steady_clock::time_point deadline);

  /// Hands a whole message to the socket if it can be queued now; else `would_block` and nothing was sent. The bytes are copied.
  [[nodiscard]] error_code try_send(std::span<const std::string_view> frames);

  /// Waits until the message can be queued. Errors as `receive`.
  [[nodiscard]] asio::awaitable<error_code> send(std::span<const std::string_view> frames, std::chrono::steady_clock::time_point deadline);

  /// With `watch_connection`: what the transport said so far. Reads the pending notices, which wait without a bound until then: ask
  /// whenever `has_notices`. What a connection brought before its end is there to be received by the time the end is told.
  using connection = connection_seen;
  [[nodiscard]] connection poll_connection();
  /// The transport has said something since `poll_connection`, of a connection or of nothing that matters. Known by the end of the next
  /// `wait`.
  [[nodiscard]] bool has_notices() const noexcept;
  /// Whether `message`, just received, came over the same connection as the one this was asked about before. Where we connect, the notices
  /// tell that a connection has broken before a message of the next one arrives. False when it cannot be told.
  [[nodiscard]] bool is_of_same_connection(const zmq_message& message);
  /// Whether all messages received since then came over that connection, by the last of them alone: where we connect, to one endpoint, the
  /// messages of a connection end before those of the next begin. False when it cannot be told; each is to be asked about then, in turn.
  [[nodiscard]] bool are_of_same_connection(const zmq_message& last) const;

  /// Ends a pending wait with `closed` and closes the socket without lingering.
  void close() noexcept;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace kvc::net
