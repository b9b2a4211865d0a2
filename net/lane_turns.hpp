// Whose turn it is among the streams of a lane, so that its other work is never kept waiting for longer than one of them takes.
#pragma once

#include <chrono>
#include <list>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

namespace kvc::net {

namespace asio = boost::asio;

class ready_sockets;

/// Shares a lane between streams that have more to do than there is time, and everything else.
///
/// Problem: a stream whose events come faster than they are applied never has to wait for its socket. If every such stream merely gave way
/// once in a while, a query would wait for a piece of work of each of them, several times over.
/// Story: whoever has worked for `length` awaits `next`. Those that wait are let go on one by one, in the order they came, and between two
/// of them the lane looks at its sockets and timers and does what is ready there. So a query waits for one turn at a time, however many
/// streams are behind. Nobody is interrupted: who works in long pieces makes long turns. Between two turns the lane also lets other threads
/// of its CPU go first (see `give_way`): a lane that has always more to do would share it with the transport's threads in stretches of
/// 4 ms, as the kernel's clock ticks, and what they have to do grows meanwhile. Behind that it looks at the sockets of `look_at` by itself:
/// the lane's queue would let what it finds there wait for the turn that is about to begin, and for those threads once more. Lane: all
/// members on the lane's thread. Must outlive the coroutines that wait in it.
class lane_turns {
 public:
  /// Of one turn. Short beside what a query may take, long beside what changing over costs (about a microsecond).
  static constexpr std::chrono::microseconds length{100};

  lane_turns() = default;
  lane_turns(const lane_turns&) = delete;
  lane_turns& operator=(const lane_turns&) = delete;

  /// Whether the turn that began last has taken long enough. Who slept meanwhile finds that it has.
  [[nodiscard]] bool is_over() const noexcept { return is_over(std::chrono::steady_clock::now()); }
  /// The same for who has just looked at the clock.
  [[nodiscard]] bool is_over(std::chrono::steady_clock::time_point now) const noexcept { return now - began_ >= length; }

  /// Has `sockets` served before each turn from now on. They must outlive all turns, and have started.
  void look_at(ready_sockets& sockets) noexcept { sockets_ = &sockets; }

  /// Ends the caller's turn; completes when the next one begins.
  /// Executor: the lane's. Deadline: none is needed, every turn ends by itself. Cancellation: whichever types the caller lets through end
  /// the wait at once. Throws std::bad_alloc, to the caller's cost alone: those who wait get their turns, if need be all at once.
  [[nodiscard]] asio::awaitable<void> next();

 private:
  class place;
  void pass_on(const asio::any_io_executor& executor);
  void call_all() noexcept;

  ready_sockets* sockets_ = nullptr;
  std::list<place*> waiting_;  ///< first come, first served
  bool is_passing_ = false;    ///< a hand-over is on its way through the lane's queue
  std::chrono::steady_clock::time_point began_{};
};

}  // namespace kvc::net
