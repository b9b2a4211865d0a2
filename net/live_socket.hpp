// Where a stream's live messages come from.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include "net/connection_seen.hpp"
#include "net/errc.hpp"
#include "net/publisher_link.hpp"
#include "net/publisher_message.hpp"
#include "net/receive_chunk.hpp"
#include "net/zmq_engine.hpp"
#include "net/zmq_socket.hpp"

namespace kvc::net {

/// One live message. Reuse one object for many receptions; frame views are valid until the next one, or `clear`. Lane: its socket's.
class live_message {
 public:
  [[nodiscard]] std::size_t size() const noexcept { return is_linked_ ? linked_.size() : queued_.size(); }  ///< number of frames
  [[nodiscard]] std::span<const std::byte> frame(std::size_t index) const noexcept {  ///< precondition: index < size()
    return is_linked_ ? linked_.frame(index) : queued_.frame(index);
  }
  void clear() noexcept {
    linked_.clear();
    queued_.clear();
  }

 private:
  friend class live_socket;

  publisher_message linked_;  ///< from a link
  zmq_message queued_;        ///< or from libzmq
  bool is_linked_ = false;
};

struct live_options {
  std::string endpoint;                     ///< an address is in it, no name
  bool bind = false;                        ///< publishers connect to us
  std::string prefix;                       ///< of the topics
  int receive_high_water = 200;             ///< messages kept while nobody receives
  std::int64_t max_frame_bytes = 64 << 20;  ///< a peer that sends a larger frame is given up; -1: no limit
  int reconnect_ms = 100;
  int reconnect_max_ms = 2'000;
};

/// A publisher's messages, however they are to be had.
///
/// Who is connected to by tcp or ipc is read directly (publisher_link). libzmq does the rest: where publishers connect to us, for
/// transports that nobody else speaks, and for peers of the protocol's first two versions, once the link has found that the peer is one.
/// The members are those of the link and of zmq_socket, and mean the same. Lane: all members, the executor's thread, the pool's.
class live_socket {
 public:
  /// What the system or libzmq refuses is answered, and `into` is empty then. Throws std::bad_alloc.
  [[nodiscard]] static error_code open(std::optional<live_socket>& into, zmq_engine& engine, asio::any_io_executor executor,
                                       chunk_pool& pool, const live_options& options);

  [[nodiscard]] error_code try_receive(live_message& into);
  [[nodiscard]] asio::awaitable<error_code> wait(std::chrono::steady_clock::time_point deadline);
  /// Takes in what there is while nobody receives; libzmq does that by itself.
  void take_in() {
    if (link_) link_->take_in();
  }
  [[nodiscard]] connection_seen poll_connection();
  [[nodiscard]] bool has_notices() const noexcept { return link_ ? link_->has_notices() : socket_->has_notices(); }
  [[nodiscard]] bool is_of_same_connection(const live_message& message);
  [[nodiscard]] bool are_of_same_connection(const live_message& last) const;

  /// The endpoint really bound.
  [[nodiscard]] std::string bound_endpoint() const { return socket_ ? socket_->bound_endpoint() : std::string(); }
  void close() noexcept;

 private:
  live_socket(zmq_engine& engine, asio::any_io_executor executor, const live_options& options)
      : engine_(&engine), executor_(std::move(executor)), options_(options) {}
  [[nodiscard]] error_code open_link(chunk_pool& pool, const asio::generic::stream_protocol::endpoint& to);
  [[nodiscard]] error_code open_socket();
  /// The link has found a peer that it cannot speak to.
  void change_over();

  zmq_engine* engine_;
  asio::any_io_executor executor_;
  live_options options_;
  std::optional<publisher_link> link_;  ///< one of the two, until closed
  std::optional<zmq_socket> socket_;
  connection_seen before_;    ///< of the link that the socket has replaced
  std::uint64_t newest_ = 0;  ///< connection of the message that was asked about last
};

}  // namespace kvc::net
