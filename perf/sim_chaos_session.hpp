// One chaos run from its seed to its verdict: a fleet is drawn, registered, goes wrong, falls quiet, and the conductor is held against it.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include "net/zmq_socket.hpp"
#include "perf/sim_chaos_check.hpp"
#include "perf/sim_chaos_coverage.hpp"
#include "perf/sim_chaos_faults.hpp"
#include "perf/sim_options.hpp"

namespace kvc::sim {

/// How often a seed is played in all while the machine takes the time of each run that fails.
inline constexpr int most_chaos_attempts = 3;

/// What the publishers of a seed are registered with: every fourth keeps what it cannot be sure of.
[[nodiscard]] constexpr doubt_policy policy_of(std::uint64_t seed) noexcept {
  return seed % 4 == 3 ? doubt_policy::keeps : doubt_policy::drops;
}

/// What a session needs to know besides its seed.
struct chaos_request {
  std::string server_host = "127.0.0.1";
  std::uint16_t server_port = 13'333;
  std::string engine_host = "127.0.0.1";  ///< where publishers listen, as the server reaches it
  std::string run = "chaos";              ///< keeps this process's tenants apart from others'
  std::chrono::seconds patience{60};      ///< for the conductor to apply what was published; and for any other wait
};

/// How a session ended.
struct chaos_verdict {
  std::uint64_t seed = 0;
  std::vector<std::string> complaints;  ///< empty: all is well
  std::vector<std::string> journal;     ///< of every publisher; only when there are complaints
  fault_counts faults;
  chaos_coverage coverage;
  std::uint64_t streams = 0;
  std::uint64_t incomplete = 0;  ///< of them, at the end
  std::uint64_t batches = 0;     ///< published by the last incarnations
  std::uint64_t restarts = 0;
  std::uint64_t answers = 0;                   ///< compared
  std::chrono::milliseconds longest_stall{0};  ///< that this process had no turn

  /// Whether the machine gave this process its time. Deadlines of the conductor are real ones: where a publisher answers late because
  /// nobody let it, losses are told that nobody injected, and the seed should be run again.
  [[nodiscard]] bool was_undisturbed() const noexcept { return longest_stall < std::chrono::milliseconds(500); }
};

/// Runs one seed. What: see the file. Preconditions: none; several may run at once on one executor. Lifetimes: `transport` and
/// `is_stopping` outlive it. Lane: one thread, that of the executor. Deadline: `patience` for each wait. Cancellation: ends early, without
/// complaints, when `is_stopping` becomes true. Errors: as complaints.
[[nodiscard]] asio::awaitable<chaos_verdict> run_chaos_session(net::zmq_engine& transport, asio::any_io_executor executor,
                                                               chaos_request what, std::uint64_t seed, const bool& is_stopping);

}  // namespace kvc::sim
