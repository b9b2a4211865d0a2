// A port of loopback that a service under test can leave and come back to.
#pragma once

#include <arpa/inet.h>
#include <cstdint>
#include <netinet/in.h>
#include <stdexcept>
#include <sys/socket.h>
#include <unistd.h>

namespace kvc::test {

/// Keeps a free port from being given to others while nobody listens there; only an outgoing connection may still get one that was in use
/// shortly before, so that whoever wants to listen there has to try again. Bound, never listening, so that connections are refused
/// meanwhile; servers, which allow reuse, may listen on it. Throws std::runtime_error.
class held_port {
 public:
  held_port() {
    // Chosen by a socket that shares with nobody: among those that do, two programs may be given the same port.
    const int chooser = bound(0, false);
    number_ = port_of(chooser);
    if (chooser >= 0) ::close(chooser);
    socket_ = number_ == 0 ? -1 : bound(number_, true);
    if (socket_ < 0) throw std::runtime_error("no free port on loopback");
  }
  ~held_port() { ::close(socket_); }
  held_port(const held_port&) = delete;
  held_port& operator=(const held_port&) = delete;

  [[nodiscard]] std::uint16_t number() const noexcept { return number_; }

 private:
  /// A socket on this port, 0 for any; negative when there is none.
  static int bound(std::uint16_t port, bool is_shared) {
    const int made = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int on = is_shared ? 1 : 0;
    ::setsockopt(made, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    ::setsockopt(made, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on));
    sockaddr_in where{};
    where.sin_family = AF_INET;
    where.sin_port = htons(port);
    where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (made >= 0 && ::bind(made, reinterpret_cast<const sockaddr*>(&where), sizeof(where)) == 0) return made;
    if (made >= 0) ::close(made);
    return -1;
  }
  static std::uint16_t port_of(int descriptor) {
    sockaddr_in where{};
    socklen_t length = sizeof(where);
    return ::getsockname(descriptor, reinterpret_cast<sockaddr*>(&where), &length) == 0 ? ntohs(where.sin_port) : std::uint16_t{0};
  }

  int socket_ = -1;
  std::uint16_t number_ = 0;
};

}  // namespace kvc::test
