// Our own connection to a publisher: subscribed, made anew when it breaks, read on the lane itself.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/generic/stream_protocol.hpp>

#include "net/connection_seen.hpp"
#include "net/errc.hpp"
#include "net/publisher_message.hpp"
#include "net/receive_chunk.hpp"

namespace kvc::net {

namespace asio = boost::asio;

struct link_options {
  std::size_t most_waiting = 200;                 ///< messages taken in while nobody receives; behind them the kernel's buffers fill
  std::uint64_t max_frame_bytes = 64U << 20;      ///< of a peer that sends a longer one no more is heard
  std::chrono::milliseconds shortest_pause{100};  ///< before it is connected to again; doubles from try to try
  std::chrono::milliseconds longest_pause{2'000};
  std::chrono::milliseconds longest_handshake{10'000};  ///< from the beginning of a try
  std::chrono::milliseconds after_a_breach{1'000};      ///< before it is told
};

/// A subscriber's connection to one endpoint.
///
/// Problem: libzmq receives on a thread of its own, and what it has received waits in a queue, megabytes of it when a lane is busy, until
/// the lane fetches it from memory. Story: the lane reads what the kernel has when it is about to use it (see chunk_pool), so that a
/// publisher that is faster than the lane waits in the kernel's buffers and then in its own queue. While the lane does something else for
/// the stream, as during a replay, messages are taken in, `most_waiting` of them.
/// A connection counts from its handshake on, which has a deadline. That the other host is dead the kernel's probes find out
/// (probe_rhythm). Whenever a connection ends it is made anew after a pause; but not after a breach of the protocol: `given_up` tells of
/// that, some time later, so that whoever begins anew does not do so without end. One coroutine at a time waits. Lane: all members, the
/// executor's thread, the pool's. The pool outlives all messages.
class publisher_link {
 public:
  /// Throws std::bad_alloc.
  publisher_link(asio::any_io_executor executor, chunk_pool& pool, std::string_view prefix, const link_options& options);
  ~publisher_link();
  publisher_link(publisher_link&&) noexcept;
  publisher_link& operator=(publisher_link&&) noexcept;

  /// Begins to connect, once. An error: the system has no socket for it at the moment. Throws std::bad_alloc.
  [[nodiscard]] error_code connect(const asio::generic::stream_protocol::endpoint& to);

  /// Takes a message if there is one. Errors: `would_block`, `closed`, `bad_frame_count` (a message of more than three frames, which has
  /// passed). Throws std::bad_alloc: no message is lost then.
  [[nodiscard]] error_code try_receive(publisher_message& into);

  /// Waits until there may be something for `try_receive`, or `has_notices`, or until `deadline`. Errors: `timed_out`, `cancelled`,
  /// `closed`. Lifetime: the link outlives the wait, or is closed. Cancellation: every type that the calling coroutine lets through ends
  /// it at once; nothing received is lost. Throws std::bad_alloc.
  [[nodiscard]] asio::awaitable<error_code> wait(std::chrono::steady_clock::time_point deadline);

  /// Takes in what there is, for a later `try_receive`, as far as it may wait: for who has not received for a while and will not soon.
  /// Throws std::bad_alloc: nothing is lost then.
  void take_in();

  /// How the connections are now: the kernel is asked. That one has ended is told at once, also while what it brought before is still to be
  /// received; and it can be, by then. Throws std::bad_alloc.
  [[nodiscard]] connection_seen poll_connection();
  /// Something has changed since `poll_connection`.
  [[nodiscard]] bool has_notices() const noexcept;
  /// The peer speaks an older version of the protocol, and nothing more will come of this: what came before it has been received.
  [[nodiscard]] bool is_for_older() const noexcept;

  /// Ends a pending wait with `closed`, and the connection.
  void close() noexcept;

 private:
  class state;
  std::shared_ptr<state> state_;
};

}  // namespace kvc::net
