// Until when a lane has surely seen everything that had happened.
#pragma once

#include <array>
#include <chrono>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

namespace kvc::net {

namespace asio = boost::asio;

/// A clock that goes only as the lane does.
///
/// Problem: who sleeps until a descriptor stirs knows when it was woken, not since when there was something to wake for: the lane may have
/// been busy, or the whole machine have stood still. Story: the lane notes the time now and then, when it comes to it. What a descriptor
/// had to say before one of those notes has ended every sleep by the time two more have been made: the lane looks at its descriptors
/// between any two, and does what it found there. So whoever still sleeps, or has only just been woken, was right to until `settled`. Life
/// cycle: `begin` once, before or while the lane runs; the context's end is its own. Lane: all members on the lane's thread once it runs.
class lane_beat {
 public:
  using clock = std::chrono::steady_clock;

  /// `period` above 0: how often the lane is woken for it.
  explicit lane_beat(asio::io_context& home, clock::duration period = std::chrono::seconds(1)) : period_(period), next_(home) {}
  lane_beat(const lane_beat&) = delete;
  lane_beat& operator=(const lane_beat&) = delete;

  void begin();

  /// Two to three periods ago on a lane that keeps up; the epoch of the clock until there is such a moment.
  [[nodiscard]] clock::time_point settled() const noexcept { return last_.front(); }

 private:
  clock::duration period_;
  asio::steady_timer next_;
  std::array<clock::time_point, 3> last_{};  ///< the oldest first
};

}  // namespace kvc::net
