// A port of loopback that a service under test can leave and come back to.
#pragma once

#include <arpa/inet.h>
#include <cstdint>
#include <netinet/in.h>
#include <stdexcept>
#include <sys/socket.h>
#include <unistd.h>

namespace kvc::test {

/// Keeps a free port from being given to anybody's outgoing connection while nobody listens there. Bound, never listening, so that
/// connections are refused meanwhile; servers, which allow reuse, may listen on it. Throws std::runtime_error.
class held_port {
 public:
  held_port() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const int on = 1;
    sockaddr_in where{};
    where.sin_family = AF_INET;
    where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof(where);
    ::setsockopt(socket_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    ::setsockopt(socket_, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on));
    if (socket_ < 0 || ::bind(socket_, reinterpret_cast<const sockaddr*>(&where), sizeof(where)) != 0 ||
        ::getsockname(socket_, reinterpret_cast<sockaddr*>(&where), &length) != 0) {
      if (socket_ >= 0) ::close(socket_);
      throw std::runtime_error("no free port on loopback");
    }
    number_ = ntohs(where.sin_port);
  }
  ~held_port() { ::close(socket_); }
  held_port(const held_port&) = delete;
  held_port& operator=(const held_port&) = delete;

  [[nodiscard]] std::uint16_t number() const noexcept { return number_; }

 private:
  int socket_;
  std::uint16_t number_ = 0;
};

}  // namespace kvc::test
