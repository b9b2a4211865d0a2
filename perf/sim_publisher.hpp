// One rank's publisher: a PUB socket for what happens, a ROUTER socket that repeats what has happened.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include "core/event.hpp"
#include "core/medium.hpp"
#include "net/errc.hpp"
#include "net/event_encode.hpp"
#include "net/zmq_socket.hpp"
#include "perf/sim_options.hpp"

namespace kvc::sim {

namespace asio = boost::asio;

/// Batches kept for replay, and how many bytes they may take together. (Source: vLLM's default buffer_steps; the bound in bytes is ours.)
inline constexpr std::size_t replay_buffer_batches = 10'000;
inline constexpr std::size_t replay_buffer_bytes = 256U << 20;

/// Publishes the batches of one rank the way vLLM does: three frames with an empty topic, numbers from 0, the last batches kept for replay
/// (the four-frame replies of vLLM 0.26 on). A subscriber that is slow loses messages and has to ask for a replay.
/// Lane: one thread, that of the executor. The engine must outlive the publisher.
class publisher {
 public:
  publisher(net::zmq_engine& engine, asio::any_io_executor executor, net::event_form events, hash_form hashes);

  /// Binds both sockets to free ports of `host`. Errors: the transport's.
  [[nodiscard]] net::error_code open(const std::string& host);

  /// What to register; valid after `open`.
  [[nodiscard]] std::string endpoint() const { return live_.bound_endpoint(); }
  [[nodiscard]] std::string replay_endpoint() const { return replay_.bound_endpoint(); }

  /// Numbers, keeps and sends a batch, stamped with the current time. An empty one is valid and uses up a number.
  void publish(core::event_batch batch);

  /// How many batches have been published; the newest has this number less one.
  [[nodiscard]] std::uint64_t published() const noexcept { return next_seqno_; }
  [[nodiscard]] std::uint64_t replays_served() const noexcept { return replays_served_; }

  /// Answers replay requests until cancelled. What: a loop. Preconditions: `open` succeeded; called once. Lifetimes: the publisher outlives
  /// it. Deadline: none, a request may never come. Cancellation: terminal and total end it at the next wait.
  [[nodiscard]] asio::awaitable<void> serve_replays();

 private:
  [[nodiscard]] asio::awaitable<void> replay(std::string asker, std::uint64_t first);

  asio::any_io_executor executor_;
  net::zmq_socket live_;
  net::zmq_socket replay_;
  net::encode_options form_;
  core::medium_table media_;  ///< the well-known media are all a simulated engine has
  std::uint64_t next_seqno_ = 0;
  std::deque<std::string> kept_;  ///< payloads; the last one has number next_seqno_ - 1
  std::size_t kept_bytes_ = 0;
  std::uint64_t replays_served_ = 0;
};

}  // namespace kvc::sim
