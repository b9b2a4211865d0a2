// Waits for several descriptors in one thread and calls whoever owns the one that stirs.
#pragma once

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

  /// Waits at most `patience_ms` and calls all that stirred. False when nobody did.
  bool wait(int patience_ms);

 private:
  int epoll_ = -1;
};

}  // namespace kvc::perf
