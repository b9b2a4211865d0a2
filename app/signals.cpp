#include "app/signals.hpp"

#include <chrono>
#include <csignal>
#include <pthread.h>
#include <utility>

#include <boost/system/error_code.hpp>

#include "net/log.hpp"

namespace kvc::app {

namespace log = net::log;

namespace {
/// Some senders tell the process and its group, `timeout` of GNU does: that is one request, and no person presses keys as fast.
constexpr std::chrono::milliseconds one_and_the_same{100};
}  // namespace

signals::signals(std::function<void()> on_first, std::function<void()> on_second)
    : set_(context_, SIGTERM, SIGINT, SIGHUP), on_first_(std::move(on_first)), on_second_(std::move(on_second)) {
  wait();
  thread_ = std::thread([this] { context_.run(); });
  pthread_setname_np(thread_.native_handle(), "signals");
}

signals::~signals() {
  // Whoever ends has been asked to: what comes after the set has gone would kill the process, with another exit code than the log tells.
  sigset_t all;
  sigemptyset(&all);
  sigaddset(&all, SIGTERM);
  sigaddset(&all, SIGINT);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
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
    asked_at_ = std::chrono::steady_clock::now();
    log::info(log::module::app, "signal received, draining", {{"signal", name}});
    on_first_();
  } else if (std::chrono::steady_clock::now() - asked_at_ < one_and_the_same) {
    log::info(log::module::app, "signal ignored", {{"signal", name}, {"reason", "it came together with the first"}});
  } else {
    log::warn(log::module::app, "second signal received, leaving now", {{"signal", name}});
    on_second_();
  }
}

}  // namespace kvc::app
