// A mover of objects that answers late, in part, wrongly, by throwing or not at all, and a ledger of what it was asked to move.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <new>
#include <random>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include "net/object_shelves.hpp"
#include "net/promotion_service.hpp"
#include "net/runtime.hpp"
#include "net/store_executor.hpp"

namespace kvc::test {

/// One promotion from the word `started` to its end.
struct flight {
  using time_point = std::chrono::steady_clock::time_point;
  enum class stage : std::uint8_t { wished, in_hand, returned, ended };  ///< returned: its end may be known already, or soon

  stage at = stage::wished;
  std::string preferred;
  time_point wished_from;  ///< it was wished for between these two
  time_point wished_to;
  time_point ended_from;
  time_point ended_to;
  net::promotion_result what = net::promotion_result::given_up;
  bool is_sure = false;     ///< its end is that one
  bool is_of_today = true;  ///< its backend has not begun anew since

  [[nodiscard]] bool is_open() const noexcept { return at == stage::wished || at == stage::in_hand; }
  [[nodiscard]] bool is_done() const noexcept { return what == net::promotion_result::accepted || what == net::promotion_result::already; }
};

/// All promotions that are under way by the words that were said, and what is wrong with what movers were asked for. Lane: the home lane's
/// thread, which is the test's.
class flight_ledger {
 public:
  using name = std::tuple<std::uint32_t, std::string, std::string>;  ///< backend, tenant, key
  using time_point = std::chrono::steady_clock::time_point;

  flight_ledger(std::uint64_t seed, const net::store_settings& with) : random(seed), settings(with) {}

  /// The last one of an object; null: there was none.
  [[nodiscard]] std::shared_ptr<flight> last_of(const name& whose) const;
  /// The word `started` was said.
  std::shared_ptr<flight> begin(const name& whose, std::string preferred, time_point from, time_point to);
  /// Nothing is left to be done by any lane: what has returned has ended.
  void settle(time_point now);
  /// The store of a backend has gone, or another one has come: nothing is in a queue any more.
  void lose_queue(std::uint32_t backend, time_point now);
  /// How promotions of a backend ended before means nothing any more.
  void begin_anew(std::uint32_t backend);
  /// There was no memory for what came of those that have just returned.
  void doubt_returned();
  [[nodiscard]] std::size_t open() const;

  void note(std::string what) {
    if (wrong.size() < 10) wrong.push_back(std::move(what));
  }
  bool chance(unsigned percent) { return random() % 100 < percent; }
  std::chrono::microseconds up_to(std::int64_t longest) {
    return std::chrono::microseconds(static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(longest + 1)));
  }

  std::mt19937_64 random;
  const net::store_settings& settings;
  std::map<name, std::shared_ptr<flight>> flights;
  std::set<std::uint32_t> pressed;                  ///< backends that may be short of memory
  std::map<std::uint32_t, time_point> rests_until;  ///< by backend: it is left alone until then for certain
  std::vector<std::string> wrong;
  unsigned trouble = 0;    ///< percent
  bool is_silent = false;  ///< nobody is answered before the deadline
  std::uint64_t told_accepted = 0;
};

/// Moves what it likes. Lane: the home lane.
class moody_mover final : public net::store_executor {
 public:
  moody_mover(net::lane& home, net::object_shelves& objects, flight_ledger& ledger, std::uint32_t backend, std::size_t keys_per_call)
      : home_(home), objects_(objects), ledger_(ledger), backend_(backend), keys_per_call_(keys_per_call) {}

  [[nodiscard]] net::asio::awaitable<std::vector<net::promotion_outcome>> promote(const net::promotion_order& order,
                                                                                  const net::promotion_progress& progress) override;
  [[nodiscard]] std::size_t keys_per_call() const noexcept override { return keys_per_call_; }

 private:
  struct call;
  [[nodiscard]] net::asio::awaitable<bool> pause(std::chrono::steady_clock::duration how_long);
  [[nodiscard]] net::promotion_outcome decide();
  [[nodiscard]] bool is_in_memory(const std::string& tenant, const std::string& key) const;

  net::lane& home_;
  net::object_shelves& objects_;
  flight_ledger& ledger_;
  std::uint32_t backend_;
  std::size_t keys_per_call_;
  std::size_t calls_ = 0;  ///< at the moment
};

/// Tells another one what was seen, unless it finds no memory for it.
class moody_truth final : public net::truth_sink {
 public:
  moody_truth(net::truth_sink& next, flight_ledger& ledger) : next_(next), ledger_(ledger) {}

  void take_truth(std::uint32_t backend, const std::string& tenant, std::span<const std::string> keys,
                  std::span<const net::placement> found) override {
    if (ledger_.chance(ledger_.trouble / 4)) {
      ledger_.doubt_returned();
      throw std::bad_alloc();
    }
    next_.take_truth(backend, tenant, keys, found);
  }
  [[nodiscard]] bool is_reachable(std::uint32_t /*backend*/) const noexcept override { return is_there; }

  bool is_there = true;

 private:
  net::truth_sink& next_;
  flight_ledger& ledger_;
};

}  // namespace kvc::test
