// How many replays a lane has under way at once.
#pragma once

#include <chrono>
#include <cstddef>
#include <list>
#include <utility>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

namespace kvc::net {

namespace asio = boost::asio;

/// Lets the streams of a lane ask for replays a few at a time.
///
/// Problem: when a switch fails or the service starts, a thousand streams ask at once. Each answer has a socket, a connection and a queue
/// of its own, memory that nobody needs a second later; and a lane applies one batch at a time, however many answers have come.
/// Story: `enter` before asking, let go of the pass when the answer is over. When `room` passes are out the next waits, first come, first
/// served. A pass that has been out for `patience` takes no room any more: publishers that do not answer must not keep a healthy one from
/// being caught up with. So whoever comes waits for one `patience` at most for every `room` of those before it, and a thousand that answer,
/// however slow the machine, are never inside together.
/// Lane: all members on the lane's thread. Must outlive its passes and the coroutines that wait in it.
class replay_gate {
 public:
  using clock = std::chrono::steady_clock;

  /// Enough to keep a lane busy: an answer over the loopback takes milliseconds, applying it about as long.
  static constexpr std::size_t room = 32;
  static constexpr std::chrono::milliseconds patience{200};  ///< many times what an answer takes

  /// Permission for one replay. Moved from, it permits nothing.
  class pass {
   public:
    explicit pass(replay_gate& gate) : gate_(&gate), entered_(gate.entered_.insert(gate.entered_.end(), clock::now())) {}
    ~pass() {
      if (gate_ != nullptr) gate_->leave(entered_);
    }
    pass(pass&& other) noexcept : gate_(std::exchange(other.gate_, nullptr)), entered_(other.entered_) {}
    pass& operator=(pass&&) = delete;

   private:
    replay_gate* gate_;
    std::list<clock::time_point>::iterator entered_;
  };

  class visitor;

  replay_gate() = default;
  replay_gate(const replay_gate&) = delete;
  replay_gate& operator=(const replay_gate&) = delete;

  /// Completes when there is room, after `patience` for every `room` before the caller at the latest, or when `who` leaves. Executor: the
  /// lane's. Lifetime: `who` outlives the wait. Cancellation: whichever types the caller lets through end the wait at once, as leaving
  /// does; the pass is given all the same.
  [[nodiscard]] asio::awaitable<pass> enter(visitor& who);

  /// Passes that are out.
  [[nodiscard]] std::size_t inside() const noexcept { return entered_.size(); }

 private:
  class place;
  class line_end;
  void leave(std::list<clock::time_point>::iterator entered) noexcept;
  void wake_first() noexcept;
  /// From when on there is room for one more, if nobody leaves before.
  [[nodiscard]] clock::time_point room_from() const noexcept;

  std::list<place*> waiting_;             ///< only the first looks whether there is room, and is woken when that may have changed
  std::list<clock::time_point> entered_;  ///< when whoever is inside came in, in that order
};

/// Who comes to the gate, one wait at a time, and may have to leave before it opens. Lane: the gate's.
class replay_gate::visitor {
 public:
  visitor() = default;
  visitor(const visitor&) = delete;
  visitor& operator=(const visitor&) = delete;

  /// Waits no longer, and never again.
  void leave() noexcept;

 private:
  friend class replay_gate;
  place* waits_at_ = nullptr;  ///< null: it does not wait
  bool is_leaving_ = false;
};

}  // namespace kvc::net
