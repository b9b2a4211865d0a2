// Performs the requests of a recovery on a publisher's replay endpoint.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include "core/ids.hpp"
#include "net/zmq_socket.hpp"

namespace kvc::net {

/// One publisher's replay endpoint. Every request goes over a fresh socket, because replies carry no tag and what is left of an earlier
/// answer could not be told from the next (kv-events.md section 7).
/// Lane: one thread; one call at a time, except `close`.
class replay_client {
 public:
  /// Nothing is opened yet. `engine` outlives the client.
  replay_client(zmq_engine& engine, asio::any_io_executor executor, std::string endpoint, std::int64_t max_payload_bytes);

  /// Asks for the batches from `from` on. Drops what is left of an earlier answer. Errors: `invalid_endpoint`, `would_block`, `closed`,
  /// the system's when there is no socket left.
  [[nodiscard]] error_code request(core::seqno from);

  struct reply {
    enum class kind : std::uint8_t { batch, end, silence, unreadable, stopped };
    kind what = kind::silence;
    core::seqno number{};
    std::string_view topic;  ///< empty when the publisher sends none; valid until the next call, as is the payload
    std::span<const std::byte> payload;
  };

  /// The next part of the answer. `silence`: nothing came before `deadline`, or nobody has been asked; `unreadable`: a reply of the wrong
  /// shape, or none that could be received; `stopped`: closed or cancelled. Cancellation: total and terminal end the wait.
  [[nodiscard]] asio::awaitable<reply> next(std::chrono::steady_clock::time_point deadline);

  /// Ends the answer in hand, and with it the payload of the last reply; the next request opens anew.
  void finish() noexcept {
    socket_.reset();
    message_.clear();
  }

  /// Ends a pending `next` with `stopped`; no further request is possible.
  void close() noexcept;

 private:
  zmq_engine* engine_;
  asio::any_io_executor executor_;
  std::string endpoint_;
  std::int64_t max_payload_bytes_;
  std::optional<zmq_socket> socket_;
  zmq_message message_;
  bool closed_ = false;
};

}  // namespace kvc::net
