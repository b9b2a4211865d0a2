// The threads of the transport, which sockets are opened with.
#pragma once

#include <memory>

namespace kvc::net {

/// The process's ZeroMQ engine: its I/O threads, which may run where the thread may that makes it. Must outlive every socket; destroying it
/// while a socket is open blocks.
///
/// Sockets whose connection is watched have threads of their own, apart from those of all others: libzmq keeps a list of what is watched,
/// and reads all of it whenever a socket of the same threads closes. So a replay would cost more the more streams there are, and what
/// replays bring does not stand in line before live batches.
class zmq_engine {
 public:
  /// `io_threads` and `max_sockets` are of each kind.
  explicit zmq_engine(int io_threads = 1, int max_sockets = 65'536);
  ~zmq_engine();
  zmq_engine(const zmq_engine&) = delete;
  zmq_engine& operator=(const zmq_engine&) = delete;

  [[nodiscard]] void* handle(bool is_watched) const noexcept;  ///< libzmq's context, for zmq_socket only

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace kvc::net
