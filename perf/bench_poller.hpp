// Waits for several descriptors in one thread and calls whoever owns the one that stirs.
#pragma once

#include <chrono>
#include <cstdint>

namespace kvc::perf {

/// Something with a descriptor.
class pollable {
 public:
  pollable() = default;
  pollable(const pollable&) = delete;
  pollable& operator=(const pollable&) = delete;
  virtual ~pollable() = default;
  /// The descriptor can be read, written, or has failed. Work is bounded, so that nobody's times are measured wrongly for it.
  virtual void stirred() = 0;
};

/// One epoll set, edge-triggered both ways: who is called does what is possible and remembers the rest. One thread.
class poller {
 public:
  /// Throws std::system_error when the system has no descriptors left.
  poller();
  ~poller();
  poller(const poller&) = delete;
  poller& operator=(const poller&) = delete;

  /// `who` outlives its descriptor or the poller.
  void watch(int descriptor, pollable& who);

  /// From now on `wait` looks again and again for so long before it sleeps. Who sleeps must be woken, which on loopback the server pays
  /// for, and on a virtual machine dearly (some 6 us of its CPU); a client on another machine is woken by that machine.
  void look_before_sleep(std::chrono::microseconds length) noexcept { looks_for_ = length; }

  /// Waits at most `patience_ms` and calls all that stirred. False when nobody did.
  bool wait(int patience_ms);

 private:
  int epoll_ = -1;
  std::chrono::microseconds looks_for_{0};
};

}  // namespace kvc::perf
