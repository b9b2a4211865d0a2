// A connection's socket, closed with its owner.
#pragma once

#include <sys/socket.h>
#include <unistd.h>
#include <utility>

namespace kvc::net {

/// The number of a connected socket that does not block. One owner; nothing else closes it. Lane: its owner's.
class open_socket {
 public:
  explicit open_socket(int number) noexcept : number_(number) {}
  open_socket(open_socket&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  open_socket& operator=(open_socket&&) = delete;
  /// The other side hears the end of what was written, at once.
  ~open_socket() {
    if (number_ < 0) return;
    ::shutdown(number_, SHUT_RDWR);
    ::close(number_);
  }

  [[nodiscard]] int number() const noexcept { return number_; }

 private:
  int number_;
};

}  // namespace kvc::net
