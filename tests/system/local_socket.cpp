#include "tests/system/local_socket.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <cerrno>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace kvc::test {
namespace {

using clock = std::chrono::steady_clock;

void check(bool fine, const char* what) {
  if (!fine) throw std::system_error(errno, std::generic_category(), what);
}

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

int new_socket() {
  const int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  check(descriptor >= 0, "socket");
  const timeval patience{60, 0};
  check(setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) == 0, "setsockopt");
  return descriptor;
}

}  // namespace

local_socket local_socket::connect(std::uint16_t port) {
  local_socket made(new_socket());
  const sockaddr_in address = loopback(port);
  check(::connect(made.descriptor_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0, "connect");
  return made;
}

local_socket local_socket::listen() {
  local_socket made(new_socket());
  const sockaddr_in address = loopback(0);
  check(bind(made.descriptor_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0, "bind");
  check(::listen(made.descriptor_, 1) == 0, "listen");
  return made;
}

local_socket::~local_socket() {
  if (descriptor_ >= 0) close(descriptor_);
}

local_socket::local_socket(local_socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

std::uint16_t local_socket::port() const {
  sockaddr_in address{};
  socklen_t size = sizeof(address);
  check(getsockname(descriptor_, reinterpret_cast<sockaddr*>(&address), &size) == 0, "getsockname");
  return ntohs(address.sin_port);
}

void local_socket::send(std::string_view bytes) const {
  const ssize_t sent = ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  check(sent == static_cast<ssize_t>(bytes.size()), "send");
}

std::string local_socket::read_to_end() const {
  std::string all;
  std::array<char, 4096> chunk{};
  for (;;) {
    const ssize_t got = recv(descriptor_, chunk.data(), chunk.size(), 0);
    if (got < 0 && errno == ECONNRESET) return all;
    check(got >= 0, "recv");
    if (got == 0) return all;
    all.append(chunk.data(), static_cast<std::size_t>(got));
  }
}

std::string http_get(std::uint16_t port, const std::string& target) {
  const local_socket connection = local_socket::connect(port);
  connection.send("GET " + target + " HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n");
  return connection.read_to_end();
}

notify_socket::notify_socket() {
  descriptor_ = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  check(descriptor_ >= 0, "socket");
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path_.copy(address.sun_path, sizeof(address.sun_path) - 1);
  check(bind(descriptor_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0, "bind");
}

notify_socket::~notify_socket() {
  close(descriptor_);
}

bool notify_socket::wait_for(std::string_view text, std::chrono::milliseconds patience) {
  const auto deadline = clock::now() + patience;
  while (all_.find(text) == std::string::npos) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - clock::now()).count();
    pollfd readable{descriptor_, POLLIN, 0};
    if (left <= 0 || poll(&readable, 1, static_cast<int>(left)) <= 0) return false;
    std::array<char, 4096> message{};
    const ssize_t got = recv(descriptor_, message.data(), message.size(), 0);
    check(got >= 0, "recv");
    all_.append(message.data(), static_cast<std::size_t>(got)).append("\n");
  }
  return true;
}

}  // namespace kvc::test
