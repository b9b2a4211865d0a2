// A closed-loop load generator: keep-alive connections that keep a window of pipelined requests in flight.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "perf/bench_poller.hpp"

namespace kvc::perf {

/// A finished request as bytes: head and body.
[[nodiscard]] std::string request_text(std::string_view method, std::string_view target, std::string_view body = {});

/// What one kind of request met.
struct load_counts {
  std::uint64_t sent = 0;
  std::uint64_t answered = 0;  ///< with 2xx
  std::uint64_t failed = 0;    ///< with another status, or because the connection ended
  std::string first_failure;
  std::vector<std::uint32_t> latencies_ns{};  ///< from the moment the request is handed to the connection; every answer
};

/// Requests of one kind over some connections to a server on loopback.
///
/// A closed loop: with one connection and a window of 1 the latencies are those of an idle client; with more the server is kept busy, and
/// only rates mean something. One thread, that of the poller, which outlives it.
class load_stream {
 public:
  struct shape {
    std::uint16_t port = 0;
    std::size_t connections = 1;
    std::size_t window = 1;  ///< requests in flight per connection
  };
  /// The next request, or nothing when there is none any more. The bytes live until they are answered.
  using source = std::function<std::optional<std::string_view>()>;

  /// Throws std::system_error when there is no connection.
  load_stream(poller& in, const shape& how, source next);
  ~load_stream();
  load_stream(const load_stream&) = delete;
  load_stream& operator=(const load_stream&) = delete;

  /// Sends the first requests.
  void start();
  /// Nothing more will come and everything was answered, or no connection is left.
  [[nodiscard]] bool is_done() const noexcept;
  /// No new requests.
  void stop() noexcept { is_stopped_ = true; }

  [[nodiscard]] load_counts& counts() noexcept { return counts_; }
  /// The body of the last answer.
  [[nodiscard]] const std::string& last_body() const noexcept { return last_body_; }

 private:
  class connection;

  [[nodiscard]] std::optional<std::string_view> take();

  source next_;
  std::size_t window_;
  bool is_stopped_ = false;
  load_counts counts_;
  std::string last_body_;
  std::vector<std::unique_ptr<connection>> connections_;
};

/// Polls until `is_done` says so. False when nothing stirred for 60 s.
[[nodiscard]] bool poll_until(poller& all, const std::function<bool()>& is_done);

}  // namespace kvc::perf
