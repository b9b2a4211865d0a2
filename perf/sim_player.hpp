// Plays the requests: ask, compare, route, serve. One at a time and in step, or several at once and free.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include "net/task_scope.hpp"
#include "perf/sim_engine.hpp"
#include "perf/sim_fleet.hpp"
#include "perf/sim_mix.hpp"
#include "perf/sim_request.hpp"
#include "perf/sim_router.hpp"
#include "perf/sim_tally.hpp"

namespace kvc::sim {

/// Plays a source of requests against a fleet and its conductor and keeps the tally.
///
/// Beside the fleet a shadow one of equal engines, without sockets, serves the same requests routed at random; the difference in tokens
/// found cached is what asking the conductor is worth.
/// Lane: one thread. Everything passed in must outlive the player; `is_stopping` ends the play at the next request.
class player {
 public:
  player(asio::any_io_executor executor, const options& chosen, request_source& source, fleet& engines, const bool& is_stopping);

  /// Plays to the end: in step when strict, else with `clients` at once. Completes when the last request is served. What went wrong is
  /// in `error`. Deadline: every answer is waited for at most `answer_patience`.
  [[nodiscard]] asio::awaitable<void> play();

  [[nodiscard]] const tally& totals() const noexcept { return totals_; }
  [[nodiscard]] tally& totals() noexcept { return totals_; }
  /// A sentence about why the play ended early; empty when it did not.
  [[nodiscard]] const std::string& error() const noexcept { return error_; }
  /// The first two blocks, at most, of the prompt that was served last: something that is sure to be cached somewhere.
  [[nodiscard]] const std::vector<std::uint32_t>& example() const noexcept { return example_; }
  /// How much later than its time a request was asked for, in ms; only with a speed.
  [[nodiscard]] const quantiles& lateness_ms() const noexcept { return lateness_ms_; }

 private:
  /// What one client needs for its requests, kept for the memory.
  struct client_state {
    client_state(asio::any_io_executor executor, const options& chosen)
        : server(std::move(executor), chosen), reader(chosen.engines, chosen.ranks, chosen.tenant) {}
    conductor server;
    answer_reader reader;
    turn request;
    std::vector<std::uint32_t> actual;
  };

  [[nodiscard]] asio::awaitable<void> run_client();
  [[nodiscard]] bool take(turn& into);
  [[nodiscard]] asio::awaitable<void> wait_for_time_of(const turn& request);
  [[nodiscard]] asio::awaitable<bool> ask(client_state& self);
  void serve(client_state& self, bool is_answered);
  void fail(std::string reason);

  asio::any_io_executor executor_;
  const options& chosen_;
  request_source& source_;
  fleet& engines_;
  const bool& is_stopping_;
  router router_;
  std::vector<engine> shadow_;
  dice shadow_dice_;
  trace_request next_;
  std::vector<std::uint32_t> example_;
  std::uint64_t taken_ = 0;
  std::uint64_t failures_in_a_row_ = 0;
  std::chrono::steady_clock::time_point started_;
  tally totals_;
  quantiles lateness_ms_;
  std::string error_;
  net::task_scope clients_;  ///< last: ends before what it uses
};

}  // namespace kvc::sim
