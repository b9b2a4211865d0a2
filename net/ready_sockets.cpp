#include "net/ready_sockets.hpp"

#include <array>
#include <cerrno>
#include <sys/epoll.h>

#include <boost/asio/post.hpp>
#include <boost/system/system_error.hpp>

#include "net/errc.hpp"

namespace kvc::net {
namespace {

constexpr std::size_t most_at_once = 256;  ///< sockets asked for in one call

int make_epoll() {
  const int made = ::epoll_create1(EPOLL_CLOEXEC);
  if (made < 0) throw boost::system::system_error(errno, boost::system::system_category(), "no epoll for the sockets of a lane");
  return made;
}

}  // namespace

ready_sockets::ready_sockets(asio::io_context& context) : context_(context), epoll_(context, make_epoll()) {}

void ready_sockets::start() {
  wait();
}

bool ready_sockets::watch(int descriptor, client& who) noexcept {
  epoll_event wanted{};
  wanted.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
  wanted.data.ptr = &who;
  return ::epoll_ctl(epoll_.native_handle(), EPOLL_CTL_ADD, descriptor, &wanted) == 0;
}

void ready_sockets::again(client& who) {
  if (!who.is_linked()) waiting_.push_back(who);
  if (!is_serving_) go_on();
}

/// Puts those that stirred into the queue. True when there were some: by the time they are served, others may have followed.
bool ready_sockets::collect() noexcept {
  std::array<epoll_event, most_at_once> events;
  const int count = ::epoll_wait(epoll_.native_handle(), events.data(), static_cast<int>(events.size()), 0);
  for (int i = 0; i < count; ++i) {
    const epoll_event& each = events[static_cast<std::size_t>(i)];
    client& who = *static_cast<client*>(each.data.ptr);
    const bool is_over = (each.events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0;
    if (is_over) who.has_end_ = true;
    if (is_over || (each.events & EPOLLIN) != 0) who.may_read_ = true;
    if (is_over || (each.events & EPOLLOUT) != 0) who.may_write_ = true;
    if (!who.is_linked()) waiting_.push_back(who);
  }
  return count > 0;
}

void ready_sockets::look() {
  if (!is_serving_) serve();
}

void ready_sockets::serve() {
  is_serving_ = true;
  const auto end = std::chrono::steady_clock::now() + turn;
  for (bool may_be_more = true; may_be_more;) {
    may_be_more = collect();
    while (!waiting_.empty()) {
      client& next = waiting_.front();
      waiting_.pop_front();
      next.on_ready();
      if (std::chrono::steady_clock::now() >= end) return go_on();
    }
  }
  is_serving_ = false;
  if (!is_waiting_) wait();
}

/// Has the rest served later.
void ready_sockets::go_on() {
  is_serving_ = true;
  asio::post(context_, placed_handler{turn_place_, [this] { serve(); }});
}

void ready_sockets::wait() {
  is_waiting_ = true;
  const auto on_stir = [this](const error_code& failed) {
    is_waiting_ = false;
    if (!failed && !is_serving_) serve();
  };
  epoll_.async_wait(asio::posix::stream_descriptor::wait_read, placed_handler{wait_place_, on_stir});
}

}  // namespace kvc::net
