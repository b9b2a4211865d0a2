#include "app/signals.hpp"

#include <csignal>
#include <cstdlib>
#include <utility>

#include <boost/system/error_code.hpp>

#include "net/log.hpp"

namespace kvc::app {

namespace log = net::log;

namespace {

volatile std::sig_atomic_t code_to_leave_with = 0;

}  // namespace

signals::signals(boost::asio::io_context& context, std::function<void()> on_first, std::function<void()> on_second)
    : set_(context, SIGTERM, SIGINT, SIGHUP), on_first_(std::move(on_first)), on_second_(std::move(on_second)) {
  wait();
}

void signals::leave_at_next(int code) noexcept {
  code_to_leave_with = code;
  for (const int number : {SIGTERM, SIGINT}) static_cast<void>(std::signal(number, [](int) { std::_Exit(code_to_leave_with); }));
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
