// Tells the service manager how we are: ready, stopping, and that every lane is alive. The only user of libsystemd.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/steady_timer.hpp>

#include "app/notify_channel.hpp"
#include "net/runtime.hpp"

namespace kvc::app {

/// Speaks the notify protocol (sd_notify(3)); without a service manager every message goes nowhere and only the log shows readiness.
///
/// Readiness: `why_not` is asked every 50 ms, and once it answers nothing READY=1 is sent, once. Meanwhile STATUS tells what is missing
/// and more time to start is asked for, since the grace period of streams may be longer than the service manager's patience.
/// Watchdog: at half of WATCHDOG_USEC every lane is sent a note, and only when all have answered is WATCHDOG=1 sent, so a lane that hangs
/// gets the process restarted. It goes on while draining.
/// Nothing here waits for the service manager: what finds its queue full is said again 50 ms later, from readiness and the farewell to the
/// watchdog, and a status is left out.
/// Timers on lane 0, not coroutines in a task scope: the drain must not end the watchdog. Constructed before the lanes start, destroyed
/// after they have stopped; `stopping` may be called from any thread.
class service_notify {
 public:
  using reasons = std::function<std::vector<std::string>()>;

  /// `address` is that of the service manager, see `notify_channel`. `why_not` is called on lane 0 and must stay callable until the lanes
  /// have stopped.
  service_notify(net::runtime& lanes, const std::string& address, reasons why_not);

  /// Begins both timers. Call once, on the thread that will start the lanes or on lane 0.
  void start();

  /// STOPPING=1, and that it may take `patience` and a little; readiness is not told any more.
  void stopping(std::chrono::milliseconds patience);

 private:
  struct round;
  void look_at_readiness();
  void start_round();
  void next_round_after(std::chrono::microseconds time);
  /// Tells it until it is taken, or until something else is insisted on.
  void insist(std::string message);
  void say_what_is_owed();
  void tell_ready();
  void tell_status(const std::vector<std::string>& missing);

  net::runtime* lanes_;
  notify_channel channel_;
  reasons why_not_;
  boost::asio::steady_timer readiness_timer_;
  boost::asio::steady_timer watchdog_timer_;
  std::chrono::microseconds watchdog_period_{0};  ///< zero: nobody watches
  std::atomic<bool> is_stopping_{false};
  std::string owed_;  ///< what is insisted on
  std::string last_status_;
  std::chrono::steady_clock::time_point last_told_{};  ///< when the last status was sent
  std::shared_ptr<round> round_;                       ///< the notes that are out; null between rounds
};

}  // namespace kvc::app
