#include "app/notify_channel.hpp"

#include <cerrno>
#include <cstddef>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <utility>

namespace kvc::app {

notify_channel::notify_channel(std::string address) : address_(std::move(address)) {
  const bool is_known = address_.starts_with('/') || address_.starts_with('@');
  if (!is_known || address_.size() < 2 || address_.size() >= sizeof(sockaddr_un::sun_path)) return;
  socket_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
}

notify_channel::~notify_channel() {
  if (socket_ >= 0) ::close(socket_);
}

notify_channel::outcome notify_channel::tell(std::string_view message) const noexcept {
  if (socket_ < 0) return outcome::nobody;
  sockaddr_un to{};
  to.sun_family = AF_UNIX;
  address_.copy(to.sun_path, sizeof(to.sun_path) - 1);
  if (to.sun_path[0] == '@') to.sun_path[0] = '\0';
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address_.size());
  ssize_t sent = -1;
  do {
    // To the address each time, not over a connection, which would end with the manager that was there when it was made.
    sent = ::sendto(socket_, message.data(), message.size(), MSG_DONTWAIT | MSG_NOSIGNAL, reinterpret_cast<const sockaddr*>(&to), length);
  } while (sent < 0 && errno == EINTR);
  if (sent >= 0) return outcome::sent;
  return errno == EAGAIN || errno == ENOBUFS || errno == ENOMEM ? outcome::full : outcome::nobody;
}

}  // namespace kvc::app
