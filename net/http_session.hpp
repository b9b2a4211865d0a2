// One connection: read a request, have it answered, write the reply, again.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include <boost/asio/awaitable.hpp>

#include "net/http_shared.hpp"
#include "net/open_socket.hpp"
#include "net/ready_sockets.hpp"
#include "net/runtime.hpp"

namespace kvc::net {

/// What the sessions of one lane refer to. Touched on that lane only; outlives them.
struct http_lane {
  explicit http_lane(lane& of) : here(of), sockets(of.context), arrived(std::make_unique_for_overwrite<std::byte[]>(arrived_bytes)) {}

  /// Of the buffer below: bodies of queries with some thousand tokens come in one piece.
  static constexpr std::size_t arrived_bytes = 64U << 10;

  lane& here;
  date_header date;
  std::size_t refusing = 0;  ///< connections over the limit that are being told so
  ready_sockets sockets;
  std::unique_ptr<std::byte[]> arrived;  ///< where every session reads into; what it does not use at once it has to copy
  std::string leaving;                   ///< where every session writes its reply down
};

/// Serves a connection until the client leaves, a deadline passes, or it is asked to stop.
///
/// Requests are answered one after the other in their order, so a client may send many without waiting. Nothing more is read while one is
/// in hand, which is also the bound on what a client can make us keep. While idle a session holds under two KiB of buffers.
/// Lifetimes: `shared` and `local` outlive it. Lane: `local.here`.
/// Deadline: one of its own on waiting for a request, on its head, its body, its answer and on writing, from `shared.settings`.
/// Cancellation: `total` ends it between two requests, the last reply saying `Connection: close`; `terminal` at once.
/// Errors: none leave it; what ends a connection early is counted.
[[nodiscard]] asio::awaitable<void> run_http_session(http_shared& shared, http_lane& local, open_socket socket);

/// Tells a connection over the limit to try again, and closes it. Lifetimes and lane as above.
[[nodiscard]] asio::awaitable<void> refuse_http_connection(http_shared& shared, http_lane& local, open_socket socket);

}  // namespace kvc::net
