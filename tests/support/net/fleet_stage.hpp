// A fleet, its storage and its coordinator on one lane that takes its turns as chance has it; no socket.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include "core/resync_fsm.hpp"
#include "tests/support/net/lone_coordinator.hpp"
#include "tests/support/net/told_fleet.hpp"

namespace kvc::test {

/// The story of a fleet: servers store, look up, delete and tell of it, join, fall silent and restart; quotas change; what is planned to be
/// deleted is deleted, refused, not heard of; the coordinator is killed and lists what there is. What it says is compared with beliefs that
/// know nothing of turns.
class fleet_stage {
 public:
  /// `is_faithful`: what is told comes in once, in its order, or again at once; it may only come at any time. Else it gets lost, late, and
  /// out of order.
  fleet_stage(std::uint64_t seed, bool is_faithful);

  /// Some hundred things happen, then everything that is under way ends.
  void play();
  /// Every deletion that is asked for happens: whoever is over a limit comes back under it.
  void be_evicted();
  /// All objects go, and nothing is left of them.
  void leave();

  /// What was wrong first; empty: nothing.
  [[nodiscard]] const std::string& complaint() const { return complaint_; }

 private:
  using listing_action = core::resync_fsm::action;

  [[nodiscard]] lone_coordinator& at() { return *coordinator_; }
  [[nodiscard]] net::coordinator_tables& tables() { return coordinator_->context.tables; }
  bool chance(std::uint64_t one_in) { return random_() % one_in == 0; }
  void complain(const std::string& what);
  [[nodiscard]] fleet_server& some_server() { return servers_[random_() % servers_.size()]; }

  void happen();
  void use_much(fleet_server& one);
  void restart(fleet_server& one);
  void tell(fleet_server& one);
  void tell_again(fleet_server& one);
  void send(fleet_server& one, std::vector<fleet_batch> batches);
  asio::awaitable<void> record(lone_coordinator& to, fleet_server& from, std::string body);
  void join_or_leave();
  void join(const std::string& id);
  void change_quota();
  void set_quota(const std::string& salt, double bytes);
  [[nodiscard]] std::optional<double> limit_of(const std::string& salt) const;

  void evict();
  asio::awaitable<void> plan(lone_coordinator& by);
  asio::awaitable<void> have_deleted(lone_coordinator& by, core::evictor::piece piece);

  void begin(bool again);
  asio::awaitable<listing_action> ask(lone_coordinator& by, core::resync_fsm& machine);

  void come_to_rest();
  asio::awaitable<void> list_usage(lone_coordinator& by, std::string* into);
  [[nodiscard]] std::map<std::string, std::uint64_t> believed() const;
  void compare();
  void compare_listing();
  void compare_order();
  void compare_metrics();

  std::mt19937_64 random_;
  bool is_faithful_;
  bool is_kind_ = false;  ///< servers delete what they are asked to
  bool is_planning_ = false;
  bool is_resting_ = false;  ///< pages of the listing come
  std::size_t spares_ = 0;
  net::coordinator_settings settings_;
  std::vector<fleet_server> servers_;
  sender_figures figures_;
  std::map<std::string, double> quotas_;
  std::optional<double> default_ = 0.0;
  std::chrono::steady_clock::time_point now_{};
  std::string complaint_;
  std::unique_ptr<lone_coordinator> coordinator_;  ///< last: what is under way there refers to the rest
};

}  // namespace kvc::test
