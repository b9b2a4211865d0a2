// Load on an HTTP server: at a fixed rate, or as fast as it answers.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "perf/sim_quantiles.hpp"

namespace kvc::perf {

/// What a stretch of load met.
struct http_outcome {
  std::uint64_t answered = 0;  ///< with 2xx, within the stretch
  std::uint64_t failed = 0;    ///< with another status, or because the connection ended
  std::uint64_t offered = 0;   ///< due within the stretch; in a closed loop what was sent
  double seconds = 0;          ///< of the stretch
  std::string first_failure;
  /// Of every request of the stretch: until its answer, late ones too, or until the end when it was due and could not be sent by then.
  sim::quantiles latency_ns;
};

/// Keep-alive connections to a port of the loopback, one request at a time on each; one thread. Alone on its CPU it never sleeps, so that a
/// request leaves when it is due; beside others it sleeps until something stirs or is due, so that nobody has to take the CPU from it.
///
/// An open loop offers a request at every tick of a fixed rate, whatever became of those before. Its latency begins when it was due: what
/// has to wait because all connections are taken has waited since then. A closed loop sends the next request when an answer has come, and
/// its latency begins when it is sent.
class http_load {
 public:
  /// `requests` are sent in turn and outlive the load. Throws std::runtime_error when nobody listens.
  http_load(std::uint16_t port, std::uint32_t connections, const std::vector<std::string>& requests, bool is_alone = true);
  ~http_load();
  http_load(const http_load&) = delete;
  http_load& operator=(const http_load&) = delete;

  /// Both end some time after the stretch, when the answers that are under way are there; at most 10 s. Throw std::runtime_error when
  /// they do not come.
  [[nodiscard]] http_outcome run_closed(std::chrono::nanoseconds length);
  /// Precondition: rate > 0, per second.
  [[nodiscard]] http_outcome run_open(double rate, std::chrono::nanoseconds length);

 private:
  class connection;
  struct stretch;

  void drive(stretch& run);
  [[nodiscard]] std::int64_t nap_ns(const stretch& run, std::int64_t now) const noexcept;
  void give(stretch& run, connection& to, std::int64_t due_ns);

  const std::vector<std::string>& requests_;
  bool is_alone_;
  std::size_t next_request_ = 0;
  int epoll_ = -1;
  std::vector<std::unique_ptr<connection>> connections_;
  std::vector<connection*> idle_;  ///< a ring: those that have waited longest come first
  std::size_t idle_begin_ = 0;
  std::size_t idle_count_ = 0;
};

}  // namespace kvc::perf
