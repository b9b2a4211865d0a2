#include "perf/bench_caller.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdexcept>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

namespace kvc::perf {

std::size_t answer_length(std::string_view head) {
  constexpr std::string_view name = "content-length: ";
  const auto is_same = [](char there, char wanted) { return there == wanted || (there >= 'A' && there <= 'Z' && there + 32 == wanted); };
  for (std::size_t line = head.find("\r\n"); line != std::string_view::npos; line = head.find("\r\n", line + 2)) {
    const std::string_view rest = head.substr(line + 2);
    if (rest.size() < name.size() ||
        !std::equal(name.begin(), name.end(), rest.begin(), [&](char wanted, char there) { return is_same(there, wanted); })) {
      continue;
    }
    std::size_t length = 0;
    const char* const digits = rest.data() + name.size();
    if (std::from_chars(digits, head.data() + head.size(), length).ec == std::errc()) return length;
  }
  throw std::runtime_error("an answer without its length");
}

bench_caller::bench_caller(std::uint16_t port)
    : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)), buffer_(std::size_t{64} << 10, '\0') {
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(socket_, reinterpret_cast<const sockaddr*>(&to), sizeof(to)) != 0) {
    ::close(socket_);
    throw std::runtime_error("cannot connect to the server");
  }
  const int on = 1;
  ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  const timeval patience{.tv_sec = 30, .tv_usec = 0};
  ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  ::setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
}

bench_caller::~bench_caller() {
  ::close(socket_);
}

std::string_view bench_caller::call(std::string_view request) {
  for (std::size_t sent = 0; sent < request.size();) {
    const ssize_t taken = ::send(socket_, request.data() + sent, request.size() - sent, MSG_NOSIGNAL);
    if (taken <= 0) throw std::runtime_error("the server closed the connection");
    sent += static_cast<std::size_t>(taken);
  }
  std::size_t have = 0;
  std::size_t body = 0;
  std::size_t wanted = std::numeric_limits<std::size_t>::max();
  while (have < wanted) {
    if (have == buffer_.size()) buffer_.resize(buffer_.size() * 2);
    const ssize_t got = ::recv(socket_, buffer_.data() + have, buffer_.size() - have, 0);
    if (got <= 0) throw std::runtime_error("no answer from the server");
    have += static_cast<std::size_t>(got);
    const std::string_view text(buffer_.data(), have);
    if (body != 0) continue;
    const std::size_t end = text.find("\r\n\r\n");
    if (end == std::string_view::npos) continue;
    body = end + 4;
    wanted = body + answer_length(text.substr(0, body));
  }
  if (!std::string_view(buffer_).starts_with("HTTP/1.1 200")) {
    throw std::runtime_error("a request failed: " + buffer_.substr(0, std::min<std::size_t>(have, 300)));
  }
  return std::string_view(buffer_).substr(body, wanted - body);
}

}  // namespace kvc::perf
