// What libzmq reports of the connections of one of its sockets.
#pragma once

#include <cstdint>
#include <memory>

#include "net/connection_notes.hpp"
#include "net/descriptor_wait.hpp"

namespace kvc::net {

/// The notices of a socket, which libzmq sends over a pair of its own; `zmq_socket` has one when its connection is watched.
/// Lane: the socket's.
class zmq_monitor {
 public:
  zmq_monitor() = default;
  ~zmq_monitor();
  zmq_monitor(const zmq_monitor&) = delete;
  zmq_monitor& operator=(const zmq_monitor&) = delete;

  /// Begins to watch `socket`, which is of `context` and outlives `close`. That there are notices ends the sleeps of `sleeper` as its
  /// second descriptor. False: there is no socket left, and `zmq_errno` says why. Once.
  [[nodiscard]] bool open(void* context, void* socket, std::shared_ptr<descriptor_wait> sleeper);
  /// Before the socket is closed, and behind the sleeper's `close`.
  void close() noexcept;

  /// What has been said so far. Takes the notices that wait, 256 of them at most: what is left keeps the sleeper awake.
  const connection_notes& read();
  /// There may be something to read.
  [[nodiscard]] bool has_stirred() const noexcept { return sleeper_ && sleeper_->has_second_stirred(); }

 private:
  void note(std::uint16_t event, std::int32_t value);

  void* watched_ = nullptr;
  void* notices_ = nullptr;  ///< our end of the pair
  std::shared_ptr<descriptor_wait> sleeper_;
  connection_notes seen_;
};

}  // namespace kvc::net
