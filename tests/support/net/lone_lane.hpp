// HTTP sessions of one lane that the test's own thread runs: no listening server, one step after the other.
#pragma once

#include <arpa/inet.h>
#include <array>
#include <cstddef>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdexcept>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/post.hpp>

#include "core/catalog.hpp"
#include "net/http_session.hpp"
#include "net/http_shared.hpp"
#include "net/runtime.hpp"

namespace kvc::test {

/// What a server's lane has of connections, and the connections themselves. One thread.
class lone_lane {
 public:
  /// What the two ends have between them: a pair of local sockets, or TCP over loopback.
  enum class wire : bool { pair, loopback };

  lone_lane(net::http_service& service, net::http_settings settings)
      : lanes_(1, catalog_), shared(service, std::move(settings)), local_(lanes_.at(0)) {
    local_.sockets.start();
  }
  ~lone_lane() {
    ask_to_leave(boost::asio::cancellation_type::terminal);
    do poll();
    while (here().tasks.running() > 0);
  }
  lone_lane(const lone_lane&) = delete;
  lone_lane& operator=(const lone_lane&) = delete;

  [[nodiscard]] net::lane& here() { return lanes_.at(0); }

  /// The client's end of a connection that a session serves from now on: does not block, and is the caller's. `send_buffer`: bytes that the
  /// system keeps of what the session has written; 0: as many as usual.
  [[nodiscard]] int connect(wire over, int send_buffer) {
    const auto [client, server] = over == wire::pair ? pair_of_ends() : ends_over_loopback();
    if (send_buffer != 0) ::setsockopt(server, SOL_SOCKET, SO_SNDBUF, &send_buffer, sizeof(send_buffer));
    here().tasks.spawn("http session", net::run_http_session(shared, local_, net::open_socket(server)));
    return client;
  }

  /// As a stop does, with the next `poll`: on the lane, where tasks may be asked to leave.
  void ask_to_leave(boost::asio::cancellation_type how) {
    boost::asio::post(here().context, [this, how] { here().tasks.cancel(how); });
  }

  /// Does all that can be done by now.
  void poll() { here().context.poll(); }

 private:
  using ends = std::pair<int, int>;

  static ends pair_of_ends() {
    std::array<int, 2> made{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, made.data()) != 0) throw std::runtime_error("no socket pair");
    return {made[0], made[1]};
  }
  static ends ends_over_loopback() {
    const int listening = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof(at);
    auto* const address = reinterpret_cast<sockaddr*>(&at);
    const int client = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int now = 1;
    ::setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &now, sizeof(now));
    const bool is_made = ::bind(listening, address, length) == 0 && ::listen(listening, 1) == 0 &&
                         ::getsockname(listening, address, &length) == 0 && ::connect(client, address, length) == 0;
    const int server = is_made ? ::accept4(listening, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC) : -1;
    ::close(listening);
    if (server < 0) throw std::runtime_error("no connection over loopback");
    ::setsockopt(server, IPPROTO_TCP, TCP_NODELAY, &now, sizeof(now));
    if (::fcntl(client, F_SETFL, O_NONBLOCK) != 0) throw std::runtime_error("a socket that always blocks");
    return {client, server};
  }

  core::catalog catalog_;
  net::runtime lanes_;  ///< never started

 public:
  net::http_shared shared;

 private:
  net::http_lane local_;
};

}  // namespace kvc::test
