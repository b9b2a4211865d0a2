#include "perf/bench_poller.hpp"

#include <array>
#include <cerrno>
#include <sys/epoll.h>
#include <system_error>
#include <unistd.h>

namespace kvc::perf {

poller::poller() : epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
  if (epoll_ < 0) throw std::system_error(errno, std::generic_category(), "epoll_create1");
}

poller::~poller() {
  ::close(epoll_);
}

void poller::watch(int descriptor, pollable& who) {
  epoll_event wanted{};
  wanted.events = EPOLLIN | EPOLLOUT | EPOLLET | EPOLLRDHUP;
  wanted.data.ptr = &who;
  if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, descriptor, &wanted) != 0) throw std::system_error(errno, std::generic_category(), "epoll_ctl");
}

bool poller::wait(int patience_ms) {
  std::array<epoll_event, 64> events{};
  const auto look = [&](int for_ms) { return ::epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), for_ms); };
  int count = 0;
  if (looks_for_.count() > 0) {
    const auto end = std::chrono::steady_clock::now() + looks_for_;
    while ((count = look(0)) == 0 && std::chrono::steady_clock::now() < end) {
    }
  }
  if (count <= 0) count = look(patience_ms);
  for (int i = 0; i < count; ++i) static_cast<pollable*>(events[static_cast<std::size_t>(i)].data.ptr)->stirred();
  return count > 0;
}

}  // namespace kvc::perf
