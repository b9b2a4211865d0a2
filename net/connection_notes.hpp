// Which connections of a socket stand, put together from what its transport reports.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

namespace kvc::net {

/// The reports of one socket's connections, in the order in which they came.
///
/// Problem: a socket that is bound has whoever connects, and whoever says nothing of the protocol leaves again; its end must not pass for
/// the end of the publisher's connection. A report of an end names the connection, the report of a handshake does not. Story: a connection
/// counts from its handshake on. Where several stand without one, a handshake is any of theirs, and an end among them is a break only when
/// no handshake is left for it to be without; so the publisher's own end may be told late, with that of the last who came beside it and
/// said nothing. And a transport that connects gives up for good when the other side breaks the protocol, for instance with a frame above
/// the limit: then an end is not followed by another try. One owner; pure.
class connection_notes {
 public:
  using time_point = std::chrono::steady_clock::time_point;

  enum class notice : std::uint8_t {
    begun,   ///< accepted or connected; nothing has been said yet
    agreed,  ///< a handshake is done; of which connection is not told
    ended,   ///< with or without a handshake
    retry,   ///< it will be, or is being, connected again
  };

  /// `number`: the connection's, of `begun` and `ended`; free for another one when it has ended.
  void note(notice what, std::int32_t number, time_point now);

  [[nodiscard]] bool is_connected() const noexcept { return open_ > 0; }
  [[nodiscard]] std::uint64_t connects() const noexcept { return connects_; }        ///< completed handshakes
  [[nodiscard]] std::uint64_t disconnects() const noexcept { return disconnects_; }  ///< ends of such connections
  /// Nothing stands, and no other try has followed the last end for a second. Only of sockets that connect.
  [[nodiscard]] bool has_given_up(time_point now) const noexcept;

 private:
  enum class handshake : std::uint8_t { none, perhaps, done };
  struct known {
    std::int32_t number = 0;
    handshake agreed = handshake::none;
  };

  void settle();

  std::vector<known> standing_;
  std::uint64_t open_ = 0;    ///< of them, those that have agreed
  std::uint64_t unsure_ = 0;  ///< of these, how many are among those that perhaps have
  std::uint64_t connects_ = 0;
  std::uint64_t disconnects_ = 0;
  std::optional<time_point> ended_at_;  ///< nothing was told since the last end
};

}  // namespace kvc::net
