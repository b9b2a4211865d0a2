// The stand-in MP servers together: a run from the first registration to the comparison at the end.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include "core/catalog.hpp"
#include "net/runtime.hpp"
#include "perf/sim_mp_options.hpp"
#include "perf/sim_mp_server.hpp"
#include "perf/sim_mp_world.hpp"
#include "perf/sim_player_of.hpp"

namespace kvc::sim {

/// A coordinator that can be ended and started again, for tests: what it knew is gone then.
struct mp_restarts {
  std::uint32_t times = 0;          ///< in a play by `turns`, at moments of the seed's choice, never in the first or the last turn
  std::function<void()> restart{};  ///< returns when another one listens on the same port; called on a thread of its own
};

/// How a run went.
struct mp_outcome {
  mp_counts counts;
  std::uint64_t stored_objects = 0;  ///< really in the storage at the end of the play
  std::uint64_t stored_bytes = 0;
  std::uint64_t model_keys = 0;  ///< that the coordinator must have known then
  std::uint64_t model_bytes = 0;
  bool was_compared = false;  ///< the ledger was held against the model
  bool was_drained = false;   ///< and the order of use, and the ledger is empty now
  std::uint64_t complaint_count = 0;
  std::vector<std::string> complaints;  ///< the first ones

  [[nodiscard]] bool is_fine() const noexcept { return complaint_count == 0 && was_compared; }
};

/// A fleet on a lane and thread of its own.
///
/// Story: the storage is filled; quotas are set; servers take turns, until the time or the turns are over; then faults end, everybody
/// becomes a member where it can be reached and tells what is left, and the coordinator's ledger is held against the model. With `drain`
/// all limits become 0, so that the coordinator asks for the deletion of every key, per salt in its order of use. When the coordinator was
/// restarted, the model begins anew as well, and only the quotas are given again by somebody else than the servers.
/// Thread: `run` blocks the calling thread, once. Everything else happens on the lane.
class mp_fleet {
 public:
  explicit mp_fleet(const mp_options& chosen, mp_restarts restarts = {});
  ~mp_fleet();
  mp_fleet(const mp_fleet&) = delete;
  mp_fleet& operator=(const mp_fleet&) = delete;

  /// The whole run. With `with_progress` it prints a line a second, and INT or TERM end the play early, a second one the process.
  [[nodiscard]] mp_outcome run(bool with_progress);

 private:
  [[nodiscard]] asio::awaitable<void> go_on(bool with_progress, std::promise<void>& ended);
  [[nodiscard]] asio::awaitable<void> whole(bool with_progress);
  [[nodiscard]] asio::awaitable<void> set_up();
  [[nodiscard]] asio::awaitable<void> play();
  [[nodiscard]] asio::awaitable<void> play_turns();
  [[nodiscard]] asio::awaitable<void> play_seconds();
  [[nodiscard]] asio::awaitable<void> restart_coordinator();
  [[nodiscard]] asio::awaitable<void> settle();
  [[nodiscard]] asio::awaitable<void> tell_everything();
  [[nodiscard]] asio::awaitable<void> take_stock();
  [[nodiscard]] asio::awaitable<bool> compare(std::string when);
  [[nodiscard]] asio::awaitable<void> drain();

  void maybe_prefetch();
  [[nodiscard]] asio::awaitable<void> prefetch(std::string instance_id);
  [[nodiscard]] asio::awaitable<void> show_progress();
  [[nodiscard]] asio::awaitable<void> watch_resync();
  [[nodiscard]] double chosen_quota_gb() const noexcept;  ///< of each salt
  [[nodiscard]] asio::awaitable<void> set_quotas(double gigabytes);
  [[nodiscard]] asio::awaitable<std::optional<double>> metric(std::string name);
  [[nodiscard]] asio::awaitable<bool> wait_for_cycles(double more);

  core::catalog catalog_;
  net::runtime lanes_;
  mp_world world_;
  player_of<mp_world> service_;
  mp_restarts restarts_;
  std::vector<std::unique_ptr<mp_server>> servers_;
  std::uint32_t prefetches_under_way_ = 0;
  bool is_playing_ = false;
  mp_outcome outcome_;
};

}  // namespace kvc::sim
