#include "app/service_notify.hpp"

#include <systemd/sd-daemon.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <cstdint>
#include <utility>

#include "net/log.hpp"

namespace kvc::app {

namespace asio = boost::asio;
namespace log = net::log;

namespace {
constexpr std::chrono::milliseconds readiness_period{50};
/// How much more time is asked for at once, and how often: the first must be longer.
constexpr std::chrono::microseconds extension = std::chrono::seconds(30);
constexpr std::chrono::seconds extension_period{10};

std::string extend_by(std::chrono::microseconds time) { return "\nEXTEND_TIMEOUT_USEC=" + std::to_string(time.count()); }

void tell(const std::string& message) {
  // Nothing can be done about a service manager that does not listen; zero means there is none.
  static_cast<void>(sd_notify(0, message.c_str()));
}
}  // namespace

/// One note to every lane. The last lane to answer tells the service manager.
struct service_notify::round {
  explicit round(std::size_t lanes) : missing(lanes) {}
  std::atomic<std::size_t> missing;
};

service_notify::service_notify(net::runtime& lanes, reasons why_not)
    : lanes_(&lanes), why_not_(std::move(why_not)), readiness_timer_(lanes.at(0).context), watchdog_timer_(lanes.at(0).context) {}

void service_notify::start() {
  std::uint64_t allowed_us = 0;
  if (sd_watchdog_enabled(0, &allowed_us) > 0) {
    watchdog_period_ = std::chrono::microseconds(allowed_us / 2);
    log::info(log::module::app, "watchdog on", {{"period_us", watchdog_period_.count()}});
    start_round();
  }
  asio::post(lanes_->at(0).context, [this] { look_at_readiness(); });
}

void service_notify::stopping(std::chrono::milliseconds patience) {
  is_stopping_.store(true, std::memory_order_relaxed);
  tell("STOPPING=1\nSTATUS=finishing running requests" + extend_by(patience + extension));
}

void service_notify::look_at_readiness() {
  if (is_stopping_.load(std::memory_order_relaxed)) return;
  const std::vector<std::string> missing = why_not_();
  if (missing.empty()) {
    tell_ready();
    return;
  }
  tell_status(missing);
  readiness_timer_.expires_after(readiness_period);
  readiness_timer_.async_wait([this](const boost::system::error_code& failure) {
    if (!failure) look_at_readiness();
  });
}

void service_notify::tell_ready() {
  log::info(log::module::app, "ready");
  tell("READY=1\nSTATUS=ready");
}

void service_notify::tell_status(const std::vector<std::string>& missing) {
  std::string status = "STATUS=not ready: " + missing.front();
  if (missing.size() > 1) status += " and " + std::to_string(missing.size() - 1) + " more";
  // Clients choose the names in here, and a line break would begin an assignment of its own.
  std::ranges::replace_if(status, [](char letter) { return static_cast<unsigned char>(letter) < 0x20; }, ' ');
  const auto now = std::chrono::steady_clock::now();
  if (status == last_status_ && now - last_told_ < extension_period) return;
  tell(status + extend_by(extension));
  last_status_ = std::move(status);
  last_told_ = now;
}

void service_notify::start_round() {
  if (round_ && round_->missing.load(std::memory_order_acquire) > 0) {
    log::warn(log::module::app, "a lane does not answer", {{"lanes", round_->missing.load(std::memory_order_relaxed)}});
  } else {
    round_ = std::make_shared<round>(lanes_->size());
    for (std::size_t i = 0; i < lanes_->size(); ++i) {
      asio::post(lanes_->at(i).context, [note = round_] {
        if (note->missing.fetch_sub(1, std::memory_order_acq_rel) == 1) tell("WATCHDOG=1");
      });
    }
  }
  watchdog_timer_.expires_after(watchdog_period_);
  watchdog_timer_.async_wait([this](const boost::system::error_code& failure) {
    if (!failure) start_round();
  });
}

}  // namespace kvc::app
