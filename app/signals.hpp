// What TERM, INT and HUP do.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <functional>

namespace kvc::app {

/// Listens for signals on one lane.
///
/// The first TERM or INT calls `on_first`, which should start the drain; the next one calls `on_second`, which should leave at once. HUP is
/// ignored with a log line, since configuration is read at start only.
/// Not a coroutine in a task scope, on purpose: the drain cancels those, and a second signal must still be heard while it waits.
/// Lane: constructed before the lanes start or on the given one; destroyed after they have stopped. The callbacks run on the lane.
class signals {
 public:
  signals(boost::asio::io_context& context, std::function<void()> on_first, std::function<void()> on_second);

  /// From now on TERM and INT end the process at once, with this code: for the time when no lane runs any more that would hear them.
  static void leave_at_next(int code) noexcept;

 private:
  void wait();
  void received(int number);

  boost::asio::signal_set set_;
  std::function<void()> on_first_;
  std::function<void()> on_second_;
  bool is_draining_ = false;
};

}  // namespace kvc::app
