// A coroutine's place in a line of those that wait to be called.
#pragma once

#include <chrono>
#include <list>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>

namespace kvc::net {

namespace asio = boost::asio;

/// Stands at the end of `line` from when it is made, until it is called or destroyed; its coroutine awaits the bell, which rings when it is
/// called, and at `latest` in any case. `Place` is the class that derives from this one, which a line is a list of.
/// Lane: all members on one thread. The line must outlive the place.
template <class Place>
class waiting_place {
 public:
  waiting_place(std::list<Place*>& line, const asio::any_io_executor& executor, std::chrono::steady_clock::time_point latest)
      : line_(line), bell_(executor, latest), at_(line.insert(line.end(), static_cast<Place*>(this))) {}
  ~waiting_place() { leave(); }
  waiting_place(const waiting_place&) = delete;
  waiting_place& operator=(const waiting_place&) = delete;

  [[nodiscard]] asio::steady_timer& bell() noexcept { return bell_; }
  void call() {
    leave();
    bell_.cancel();
  }

 private:
  void leave() noexcept {
    if (is_listed_) line_.erase(at_);
    is_listed_ = false;
  }

  std::list<Place*>& line_;
  asio::steady_timer bell_;
  typename std::list<Place*>::iterator at_;
  bool is_listed_ = true;
};

}  // namespace kvc::net
