// The socket of the service manager, written to without ever waiting.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace kvc::app {

/// Sends messages of the notify protocol (sd_notify(3)) as datagrams.
///
/// Not sd_notify itself: that waits while the queue of the socket is full, and a service manager that hangs would hold up the lane that
/// tells it something. Whoever has something to say that must arrive says it again later.
/// Any thread; nothing but the descriptor is kept.
class notify_channel {
 public:
  enum class outcome : std::uint8_t {
    sent,
    full,   ///< the queue has no room; later it may
    nobody  ///< there is no service manager, or none that can be reached
  };

  /// `address` as NOTIFY_SOCKET has it: a path, or `@name` of the abstract ones. Empty: there is no service manager.
  explicit notify_channel(std::string address);
  ~notify_channel();
  notify_channel(const notify_channel&) = delete;
  notify_channel& operator=(const notify_channel&) = delete;

  /// Whether there is an address that can be written to.
  [[nodiscard]] bool is_open() const noexcept { return socket_ >= 0; }

  /// Never waits.
  [[nodiscard]] outcome tell(std::string_view message) const noexcept;

 private:
  std::string address_;
  int socket_ = -1;
};

}  // namespace kvc::app
