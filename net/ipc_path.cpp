#include "net/ipc_path.hpp"

#include <cerrno>
#include <cstring>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

namespace kvc::net {

bool is_taken_path(std::string_view endpoint) {
  constexpr std::string_view transport = "ipc://";
  if (!endpoint.starts_with(transport)) return false;
  const std::string_view path = endpoint.substr(transport.size());
  sockaddr_un there{};
  if (path.empty() || path.front() == '@' || path.size() >= sizeof(there.sun_path)) return false;
  there.sun_family = AF_UNIX;
  std::memcpy(there.sun_path, path.data(), path.size());
  struct stat what {};
  if (::lstat(there.sun_path, &what) != 0) return false;
  if (!S_ISSOCK(what.st_mode)) return true;

  const int caller = ::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (caller < 0) return true;  // better not than wrongly
  const bool is_refused = ::connect(caller, reinterpret_cast<const sockaddr*>(&there), sizeof(there)) != 0 && errno == ECONNREFUSED;
  static_cast<void>(::close(caller));
  return !is_refused;
}

}  // namespace kvc::net
