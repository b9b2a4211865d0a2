// What is known of the connections of one socket.
#pragma once

#include <cstdint>

#include "net/errc.hpp"

namespace kvc::net {

struct connection_seen {
  bool connected = false;
  std::uint64_t connects = 0;         ///< completed handshakes
  std::uint64_t disconnects = 0;      ///< ends of such connections
  bool given_up = false;              ///< there will not be another one: the other side broke the protocol, or sent too large a frame
  errc fault = errc::not_understood;  ///< why it was given up
};

}  // namespace kvc::net
