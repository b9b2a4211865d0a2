// What TERM, INT and HUP do.
#pragma once

#include <chrono>
#include <functional>
#include <thread>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>

namespace kvc::app {

/// Listens for signals, on a thread of its own from construction to destruction.
///
/// The first TERM or INT calls `on_first`, which should start the drain; one that comes later than 100 ms behind it calls `on_second`,
/// which should leave at once. HUP is ignored with a log line, since configuration is read at start only. Not on a lane, on purpose: a
/// second signal must be heard while the lanes are waited for, when one of them hangs, and while the parts are destroyed after them. The
/// callbacks run on the thread; what they use outlives this object.
class signals {
 public:
  signals(std::function<void()> on_first, std::function<void()> on_second);
  ~signals();
  signals(const signals&) = delete;
  signals& operator=(const signals&) = delete;

 private:
  void wait();
  void received(int number);

  boost::asio::io_context context_{1};
  boost::asio::signal_set set_;
  std::function<void()> on_first_;
  std::function<void()> on_second_;
  bool is_draining_ = false;
  std::chrono::steady_clock::time_point asked_at_{};  ///< of the first
  std::thread thread_;                                ///< last: uses the rest
};

}  // namespace kvc::app
