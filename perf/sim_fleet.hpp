// The simulated engines with their publishers, and how far the conductor has followed them.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include "net/task_scope.hpp"
#include "net/zmq_socket.hpp"
#include "perf/sim_conductor.hpp"
#include "perf/sim_engine.hpp"
#include "perf/sim_options.hpp"
#include "perf/sim_publisher.hpp"
#include "perf/sim_tally.hpp"
#include "perf/sim_tokens.hpp"

namespace kvc::sim {

/// The shape of rank number `index` of a fleet, instance by instance. `salt` keeps the secrets of different fleets apart. Pure.
[[nodiscard]] engine_shape shape_of(const options& chosen, std::size_t index, std::uint64_t salt);

/// All ranks of all instances, numbered instance by instance.
///
/// Life cycle: `open` binds the sockets, `start` answers replay requests in the given scope, `join` registers and makes sure that every
/// stream is really heard, then any number of `serve` and `settle`, at last `leave`. Functions that can fail return a sentence about it,
/// empty when all went well; they give up early, without a complaint, when `is_stopping` becomes true.
/// Lane: one thread. The options, the flag, the conductor passed in and the scope must outlive what uses them.
class fleet {
 public:
  fleet(net::zmq_engine& transport, const asio::any_io_executor& executor, const options& chosen, const bool& is_stopping);

  [[nodiscard]] std::size_t size() const noexcept { return members_.size(); }

  [[nodiscard]] std::string open();
  void start(net::task_scope& tasks);

  /// Registers every rank, then publishes empty batches to each until the conductor has applied one: a subscription that is only
  /// requested, not yet in force, would lose the first events. Deadline: `answer_patience` for each of the two.
  [[nodiscard]] asio::awaitable<std::string> join(conductor& server);

  /// Serves a request at a rank and publishes what happens there.
  engine::outcome serve(std::size_t rank, const turn& request, tally& into);

  /// Blocks of the prompt that each rank holds now.
  void held(const turn& request, std::vector<std::uint32_t>& into) const;
  /// Blocks held by all ranks together.
  [[nodiscard]] std::uint64_t blocks() const noexcept;
  [[nodiscard]] std::uint64_t replays_served() const noexcept;

  /// Waits until the conductor has applied everything published so far. Deadline: `answer_patience`.
  [[nodiscard]] asio::awaitable<std::string> settle(conductor& server);

  /// Looks once how many batches each rank is ahead of the conductor.
  [[nodiscard]] asio::awaitable<std::string> sample_staleness(conductor& server, tally& into);

  /// Unregisters every instance; what cannot be unregistered within a few seconds stays.
  [[nodiscard]] asio::awaitable<std::string> leave(conductor& server);

 private:
  struct member {
    engine cache;
    std::unique_ptr<publisher> out;
    std::uint64_t applied = 0;  ///< batches the conductor is known to have applied
  };

  [[nodiscard]] bool is_behind(std::uint32_t instance) const noexcept;
  [[nodiscard]] std::size_t first_behind() const noexcept;
  [[nodiscard]] asio::awaitable<std::string> refresh(conductor& server, std::string target);
  [[nodiscard]] asio::awaitable<std::string> make_heard(conductor& server);
  [[nodiscard]] std::string name_of(std::size_t rank) const;

  asio::any_io_executor executor_;
  const options& chosen_;
  const bool& is_stopping_;
  std::vector<member> members_;
  std::vector<core::event_batch> told_;  ///< kept for its memory
};

}  // namespace kvc::sim
