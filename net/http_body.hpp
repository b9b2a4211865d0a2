// A reply's body that is made while it is sent, so that it may be longer than memory.
#pragma once

#include <cstdint>
#include <string>

#include <boost/asio/awaitable.hpp>

#include "net/runtime.hpp"

namespace kvc::net {

/// Makes a body piece by piece.
///
/// Life cycle: handed over in an http_reply; the session asks for a piece once the client has taken the one before, so a slow client slows
/// the source down and never more than one piece is kept; destroyed after the last piece, or earlier when the client has gone, a deadline
/// has passed or the service stops. Until the first piece is there nothing has been sent: without one the reply is a 500, or a 503 where it
/// is late. Later a body that does not come to its end is cut short, which clients see: the last chunk is missing. Lane: the session's.
/// Deadline: the session's `handler_timeout` for each piece; a call that misses it goes on to its end unheard, so it must keep alive what
/// it needs; the source is then not asked again.
class http_body {
 public:
  /// What a call has come to.
  enum class progress : std::uint8_t {
    piece,   ///< one more piece is there; perhaps an empty one
    last,    ///< the same, and there are no more
    broken,  ///< the rest cannot be had
  };

  http_body() = default;
  http_body(const http_body&) = delete;
  http_body& operator=(const http_body&) = delete;
  virtual ~http_body() = default;

  /// Puts the next piece into `into`, which is empty. Pieces of 64 KiB to some MiB serve best.
  [[nodiscard]] virtual asio::awaitable<progress> next(lane& here, std::string& into) = 0;
};

}  // namespace kvc::net
