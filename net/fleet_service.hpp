// Registration of publishers: decides on the control lane, runs each stream on its worker's lane, publishes who is there.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include "core/catalog.hpp"
#include "core/event_applier.hpp"
#include "core/eviction.hpp"
#include "core/page_allocator.hpp"
#include "core/published.hpp"
#include "core/recipe_watch.hpp"
#include "core/registration.hpp"
#include "core/snapshot.hpp"
#include "core/stream_status.hpp"
#include "core/worker_numbers.hpp"
#include "net/errc.hpp"
#include "net/eviction_task.hpp"
#include "net/runtime.hpp"
#include "net/zmq_socket.hpp"

namespace kvc::net {

class object_shelves;

/// One registered publisher, as anyone may see it.
struct service_info {
  core::registration registration;
  core::worker_id worker{};
  core::generation generation{};
  std::size_t lane = 0;
  std::chrono::steady_clock::time_point since;  ///< when it was registered
  std::shared_ptr<core::stream_status> status;
  std::shared_ptr<core::recipe_notes> recipe;     ///< how its publisher names blocks
  std::shared_ptr<core::worker_numbers> numbers;  ///< for further workers a stream speaks for
  object_shelves* objects = nullptr;              ///< where a store's events about objects go; null: nowhere
};

/// All registered publishers at one moment, sorted by worker key; none is null. Immutable, and so is each of them.
using fleet_view = std::vector<std::shared_ptr<const service_info>, core::page_allocator<std::shared_ptr<const service_info>>>;

/// What the streams may do; see app/config for meanings and ranges.
struct stream_settings {
  int receive_high_water = 200;  ///< messages kept by the transport while the lane is busy
  std::int64_t max_payload_bytes = 64 << 20;
  std::size_t batches_per_turn = 64;                ///< batches applied before other work of the lane gets a turn
  std::size_t blocks_per_turn = 4'096;              ///< blocks removed before other work of the lane gets a turn
  std::size_t max_orphans = 65'536;                 ///< blocks per stream that may wait for a parent, or for the meaning of their name
  std::chrono::milliseconds pool_settle{1'000};     ///< how long no new part of a block may come before those seen are taken for all
  std::chrono::milliseconds replay_timeout{5'000};  ///< longest silence inside one replay
  std::size_t replay_attempts = 3;                  ///< requests without progress, then batches left out, before a gap is given up
  std::chrono::milliseconds idle_check{1'000};      ///< how often an idle stream looks around while something is to be found out
  core::loss_policy after_loss = core::loss_policy::drop;  ///< what happens to blocks that a lost batch may have removed
  std::chrono::milliseconds stale_after{30'000};           ///< silence after which a stream is stale; 0: never
  std::chrono::milliseconds evict_after{0};                ///< silence after which its blocks leave, not before it is stale; 0: never
  std::chrono::milliseconds recipe_check{10'000};          ///< how often members are compared for how they hash
  std::chrono::milliseconds ready_grace{30'000};           ///< how long a new stream may hold back readiness
  std::uint64_t index_budget = 0;                          ///< bytes the index may use before blocks are evicted; 0: any number
  eviction_rhythm eviction;                                ///< how that is done
};

class stream_listener;

/// The dump of what one stream's workers hold as it goes to and fro between lanes: one after the other, the registered one first.
struct dump_turn {
  explicit dump_turn(core::dump_filter which, std::optional<core::dp_rank> rank = {}) : only(std::move(which)), only_rank(rank) {}

  core::dump_filter only;
  std::optional<core::dp_rank> only_rank;           ///< absent: every rank the stream speaks for
  std::optional<core::dump_cursor> cursor;          ///< of the worker in hand
  std::optional<core::event_applier::owner> owner;  ///< whose blocks the last call told
  bool is_first_of_owner = false;                   ///< that call was the first for this worker
  bool is_last_of_owner = false;                    ///< and the last
  core::dump_slice slice;                           ///< told by the last call
  std::optional<core::seqno> seqno;         ///< newest batch applied at that moment; absent: none, one was being applied, or blocks went
  bool is_last = false;                     ///< nothing is left to tell of any worker
  std::weak_ptr<stream_listener> from;      ///< filled in by the first call; locked on the worker's lane only
  std::optional<std::size_t> lane;          ///< likewise
  std::optional<std::uint64_t> generation;  ///< of the publisher at the first call; another one's seqnos mean nothing here
  std::uint64_t losses = 0;                 ///< of the stream at the first call: behind another one no seqno tells what is held
};

/// The fleet of publishers.
///
/// Lane: `add` and `remove` may be awaited on any lane; the decision runs on the control lane (lane 0), the stream on the worker's lane.
/// `view`, `readiness` and `drain` may be called from anywhere.
class fleet_service {
 public:
  /// `objects` is told what pools say about objects; it outlives the lanes. Null: nobody keeps objects.
  fleet_service(runtime& lanes, zmq_engine& engine, core::catalog& catalog, core::medium_table& media, stream_settings settings,
                object_shelves* objects = nullptr);
  ~fleet_service();
  fleet_service(const fleet_service&) = delete;
  fleet_service& operator=(const fleet_service&) = delete;

  struct added {
    bool changed = false;   ///< false: the same registration was there already
    bool replaced = false;  ///< another one under the same key has ended
    core::worker_id worker{};
  };

  /// Registers a publisher and starts its stream; see spec indexer-api, POST /register. The publisher need not be up.
  /// `new_medium`: a word for the medium that is to be learned, instead of what the registration has, unless it is refused.
  /// Preconditions: the registration is validated. Lifetimes: the service outlives the call. Deadline: none needed, nothing is waited
  /// for but other lanes. Errors: core::errc::seed_conflict, workers_exhausted; net::errc::draining.
  [[nodiscard]] asio::awaitable<result<added>> add(core::registration wanted, std::string new_medium = {});

  /// Which publishers to remove; absent means any.
  struct selector {
    std::string tenant;
    std::string instance;
    std::optional<core::dp_rank> rank;
    std::optional<core::publisher_class> kind;
  };

  /// Ends the streams that match and removes every block of theirs before it completes. Answers their keys; empty when none matched.
  [[nodiscard]] asio::awaitable<std::vector<core::worker_key>> remove(selector which);

  /// Tells some more of the blocks of a stream's workers into `turn`, on its lane, some `blocks_per_turn` at a time; events go on in
  /// between. `worker` is the registered one. An unregistered stream has nothing more to tell. May be awaited on any lane, one call per
  /// turn at a time. Lifetimes: the service outlives the call, the call keeps the turn. Deadline: none, nothing is waited for but other
  /// lanes; the caller may stop listening.
  [[nodiscard]] asio::awaitable<void> dump_some(core::worker_id worker, std::shared_ptr<dump_turn> turn);

  [[nodiscard]] const core::published<fleet_view>& view() const noexcept;

  /// What is known of the byte budget of the index. From anywhere.
  [[nodiscard]] const core::index_budget& budget() const noexcept;

  /// Why the service is not ready; empty: ready.
  [[nodiscard]] std::vector<std::string> not_ready_because(std::chrono::steady_clock::time_point now) const;

  /// From now on not ready, and new registrations are refused.
  void drain() noexcept { draining_.store(true, std::memory_order_relaxed); }
  [[nodiscard]] bool is_draining() const noexcept { return draining_.load(std::memory_order_relaxed); }

 private:
  struct state;
  std::atomic<bool> draining_{false};
  std::unique_ptr<state> state_;
};

}  // namespace kvc::net
