#include "app/service_notify.hpp"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>

#include <boost/asio/post.hpp>
#include <systemd/sd-daemon.h>

#include "net/log.hpp"

namespace kvc::app {

namespace asio = boost::asio;
namespace log = net::log;

namespace {
constexpr std::chrono::milliseconds readiness_period{50};
/// How much more time is asked for at once, and how often: the first must be longer.
constexpr std::chrono::microseconds extension = std::chrono::seconds(30);
constexpr std::chrono::seconds extension_period{10};

std::string extend_by(std::chrono::microseconds time) {
  return "\nEXTEND_TIMEOUT_USEC=" + std::to_string(time.count());
}

constexpr std::string_view ready_words = "READY=1\nSTATUS=ready";
constexpr auto full = notify_channel::outcome::full;
}  // namespace

/// One note to every lane. The last lane to answer tells the service manager.
struct service_notify::round {
  explicit round(std::size_t lanes) : missing(lanes) {}
  std::atomic<std::size_t> missing;
};

service_notify::service_notify(net::runtime& lanes, const std::string& address, reasons why_not)
    : lanes_(&lanes),
      channel_(address),
      why_not_(std::move(why_not)),
      readiness_timer_(lanes.at(0).context),
      watchdog_timer_(lanes.at(0).context) {
  if (!address.empty() && !channel_.is_open()) {
    log::warn(log::module::app, "the service manager cannot be told anything", {{"NOTIFY_SOCKET", address}});
  }
}

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
  std::string farewell = "STOPPING=1\nSTATUS=finishing running requests" + extend_by(patience + extension);
  if (channel_.tell(farewell) != full) return;
  asio::post(lanes_->at(0).context, [this, words = std::move(farewell)]() mutable { insist(std::move(words)); });
}

void service_notify::insist(std::string message) {
  owed_ = std::move(message);
  say_what_is_owed();
}

void service_notify::say_what_is_owed() {
  // Ready that was not heard in time is not told behind the farewell.
  if (owed_ == ready_words && is_stopping_.load(std::memory_order_relaxed)) return;
  if (channel_.tell(owed_) != full) return;
  readiness_timer_.expires_after(readiness_period);
  readiness_timer_.async_wait([this](const boost::system::error_code& failure) {
    if (!failure) say_what_is_owed();
  });
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
  insist(std::string(ready_words));
}

void service_notify::tell_status(const std::vector<std::string>& missing) {
  std::string status = "STATUS=not ready: " + missing.front();
  if (missing.size() > 1) status += " and " + std::to_string(missing.size() - 1) + " more";
  // Clients choose the names in here, and a line break would begin an assignment of its own.
  std::ranges::replace_if(
      status, [](char letter) { return static_cast<unsigned char>(letter) < 0x20; }, ' ');
  const auto now = std::chrono::steady_clock::now();
  if (status == last_status_ && now - last_told_ < extension_period) return;
  if (channel_.tell(status + extend_by(extension)) == full) return;  // the next look tells it
  last_status_ = std::move(status);
  last_told_ = now;
}

void service_notify::start_round() {
  if (round_ && round_->missing.load(std::memory_order_acquire) > 0) {
    log::warn(log::module::app, "a lane does not answer", {{"lanes", round_->missing.load(std::memory_order_relaxed)}});
  } else {
    round_ = std::make_shared<round>(lanes_->size());
    for (std::size_t i = 0; i < lanes_->size(); ++i) {
      asio::post(lanes_->at(i).context, [this, note = round_] {
        if (note->missing.fetch_sub(1, std::memory_order_acq_rel) != 1 || channel_.tell("WATCHDOG=1") != full) return;
        // Half of the allowed time later would be too late. Asked anew, so that what is told is true when it is told.
        asio::post(lanes_->at(0).context,
                   [this] { next_round_after(std::min<std::chrono::microseconds>(watchdog_period_, readiness_period)); });
      });
    }
  }
  next_round_after(watchdog_period_);
}

void service_notify::next_round_after(std::chrono::microseconds time) {
  watchdog_timer_.expires_after(time);
  watchdog_timer_.async_wait([this](const boost::system::error_code& failure) {
    if (!failure) start_round();
  });
}

}  // namespace kvc::app
