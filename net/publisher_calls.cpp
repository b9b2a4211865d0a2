#include "net/publisher_calls.hpp"

#include <atomic>
#include <cerrno>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include "net/probe_rhythm.hpp"

namespace kvc::net::publisher_calls {
namespace {

void set(int socket, int level, int option, int value) noexcept {
  (void)::setsockopt(socket, level, option, &value, sizeof(value));  // without it things take longer to be found out
}

bool is_for_later(int failure) noexcept {
  return failure == EAGAIN || failure == EWOULDBLOCK;
}

}  // namespace

void prepare(int socket, int family) noexcept {
  if (family != AF_INET && family != AF_INET6) return;
  static std::atomic<unsigned> turns{0};
  const probe_rhythm how = probe_rhythm::of(turns.fetch_add(1, std::memory_order_relaxed));
  set(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  set(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set(socket, IPPROTO_TCP, TCP_KEEPIDLE, how.after_s);
  set(socket, IPPROTO_TCP, TCP_KEEPINTVL, how.interval_s);
  set(socket, IPPROTO_TCP, TCP_KEEPCNT, how.count);
}

received receive(int socket, std::span<std::byte> into) noexcept {
  ssize_t count = -1;
  do {
    count = ::recv(socket, into.data(), into.size(), MSG_DONTWAIT);
  } while (count < 0 && errno == EINTR);
  if (count > 0) return {.bytes = static_cast<std::size_t>(count)};
  return {.has_ended = count == 0 || !is_for_later(errno)};
}

sent send(int socket, std::string_view words) noexcept {
  ssize_t count = -1;
  do {
    count = ::send(socket, words.data(), words.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  } while (count < 0 && errno == EINTR);
  if (count < 0 && !is_for_later(errno)) return sent::ended;
  return count == static_cast<ssize_t>(words.size()) ? sent::all : sent::not_all;
}

bool has_peer_ended(int socket) noexcept {
  pollfd asked{.fd = socket, .events = POLLRDHUP, .revents = 0};
  return ::poll(&asked, 1, 0) == 1 && (asked.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

}  // namespace kvc::net::publisher_calls
