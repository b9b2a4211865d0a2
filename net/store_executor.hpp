// Who moves the bytes of a store's objects: one interface, an implementation per kind of store.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include "core/replica.hpp"
#include "net/errc.hpp"

namespace kvc::net {

namespace asio = boost::asio;

/// A copy of an object as a store tells it.
struct located_replica {
  core::replica_kind kind = core::replica_kind::memory;
  core::replica_state state = core::replica_state::complete;
  std::string location;
};

/// Where an object is, by the store itself.
struct placement {
  bool is_known = false;                  ///< false: the store did not tell; then the rest means nothing
  bool tells_memory_only = false;         ///< it is there, and what it has elsewhere than in memory was not told
  std::vector<located_replica> replicas;  ///< none: it is gone
  std::uint64_t bytes = 0;                ///< size of the object; 0: not told
  /// When the store was asked: what has happened since, it could not know. Never later than its answer.
  std::chrono::steady_clock::time_point asked;

  [[nodiscard]] core::replica_set set() const noexcept {
    core::replica_set all;
    for (const located_replica& each : replicas) all.add(each.kind, each.state);
    return all;
  }
};

/// What became of a wish to have an object in memory.
enum class promotion_result : std::uint8_t {
  accepted,           ///< it is there now, or its mover has promised to bring it
  already,            ///< it was there before anything was done: a put or another promotion was first
  rejected_pressure,  ///< the store has no room
  unsupported,        ///< it cannot be promoted, by this store or from where it lies
  gone,               ///< the store has no such object any more
  failed,
  given_up,  ///< by us: nobody was asked, or the answer was not waited for
};

/// Whether a status means that the server has more to do than it can.
[[nodiscard]] constexpr bool is_overload(unsigned status) noexcept {
  return status == 429 || status == 503;
}

struct promotion_order {
  std::vector<std::string> keys;
  std::string tenant;
  std::string preferred;  ///< host, segment or instance that should have the copy; "": any
  std::chrono::steady_clock::time_point deadline;
  std::vector<std::chrono::steady_clock::time_point> asked;  ///< when each key was wished for
  // The prompt the objects are part of, where that is known; some movers know blocks by nothing else.
  std::string model;
  std::string salt;
  std::vector<std::uint32_t> tokens;
};

struct promotion_outcome {
  promotion_result what = promotion_result::failed;
  placement seen;      ///< what the store told last
  std::string reason;  ///< of a failure, for the log
};

/// Some of an order's objects, by their places in it, whose end is known before that of others. Of each it may be told once.
using promotion_progress = std::function<void(std::span<const std::size_t> places, std::span<const promotion_outcome> outcomes)>;

/// A mover. Lane: the home lane of the stores, any number of calls at a time.
class store_executor {
 public:
  store_executor() = default;
  store_executor(const store_executor&) = delete;
  store_executor& operator=(const store_executor&) = delete;
  virtual ~store_executor() = default;

  /// Brings objects to memory, at most 128 of them; answers as many outcomes, in order. Those that end sooner than others may be told to
  /// `progress`, with as many outcomes as the order has objects. Lifetimes: both outlive the call. Deadline: the order's. Cancellation:
  /// ends at the next wait, with what is known then. Never throws for what the other side can bring about.
  [[nodiscard]] virtual asio::awaitable<std::vector<promotion_outcome>> promote(const promotion_order& order,
                                                                                const promotion_progress& progress) = 0;

  /// How many keys of several wishes may be made one call; 1: a wish stands alone.
  [[nodiscard]] virtual std::size_t keys_per_call() const noexcept { return 128; }

  /// Whether the store can be asked where objects are.
  [[nodiscard]] virtual bool can_be_asked() const noexcept { return false; }

  /// Where objects are, at most 128 of them, without touching them. Precondition: it can be asked. `patience`: of one exchange, of which
  /// there may be several. What is wrong with one key leaves that one unknown. Errors, for all of them: the transport's, `timed_out`,
  /// `cancelled`, `not_understood`. As `promote` otherwise.
  [[nodiscard]] virtual asio::awaitable<result<std::vector<placement>>> locate(const std::vector<std::string>& /*keys*/,
                                                                               const std::string& /*tenant*/,
                                                                               std::chrono::steady_clock::duration /*patience*/) {
    co_return std::vector<placement>();
  }

  /// How often the store has refused a promotion for want of memory, as it told last.
  [[nodiscard]] virtual std::uint64_t refused_for_memory() const noexcept { return 0; }
};

inline constexpr std::size_t most_keys_per_call = 128;

}  // namespace kvc::net
