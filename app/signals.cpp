#include "app/signals.hpp"

#include <csignal>
#include <pthread.h>
#include <utility>

#include <boost/system/error_code.hpp>

#include "net/log.hpp"

namespace kvc::app {

namespace log = net::log;

signals::signals(std::function<void()> on_first, std::function<void()> on_second)
    : set_(context_, SIGTERM, SIGINT, SIGHUP), on_first_(std::move(on_first)), on_second_(std::move(on_second)) {
  wait();
  thread_ = std::thread([this] { context_.run(); });
  pthread_setname_np(thread_.native_handle(), "signals");
}

signals::~signals() {
  context_.stop();
  thread_.join();
}

void signals::wait() {
  set_.async_wait([this](const boost::system::error_code& failure, int number) {
    if (failure) return;
    wait();
    received(number);
  });
}

void signals::received(int number) {
  const char* const name = number == SIGTERM ? "TERM" : number == SIGINT ? "INT" : "HUP";
  if (number == SIGHUP) {
    log::info(log::module::app, "signal ignored", {{"signal", name}, {"reason", "configuration is read at start only"}});
  } else if (!is_draining_) {
    is_draining_ = true;
    log::info(log::module::app, "signal received, draining", {{"signal", name}});
    on_first_();
  } else {
    log::warn(log::module::app, "second signal received, leaving now", {{"signal", name}});
    on_second_();
  }
}

}  // namespace kvc::app
