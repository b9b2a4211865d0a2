// What plays with stand-ins in a world of their own have in common: asking the service, waiting for news, being stopped, being waited for.
#pragma once

#include <chrono>
#include <csignal>
#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <unistd.h>
#include <utility>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "net/http_client.hpp"

namespace kvc::sim {

/// The hands of a play. `World` has `home`, a lane; `news`, a timer that is cancelled when something has happened; `is_stopping`;
/// `complain`. Lifetimes: the world outlives it. Lane: all members on the world's lane.
template <class World>
class player_of {
 public:
  using answer = net::http_client::answer;

  /// Nobody who is asked may take longer than `patience`.
  player_of(World& world, std::string host, std::uint16_t port, std::chrono::milliseconds patience)
      : world_(world), service_(world.home.context.get_executor(), std::move(host), port), patience_(patience) {}

  /// The answer; none, and a complaint, when there is none.
  [[nodiscard]] boost::asio::awaitable<std::optional<answer>> ask(std::string method, std::string target, std::string body) {
    const std::string what = method + " " + target;
    auto answered = co_await service_.call(method, std::move(target), std::move(body), patience_);
    if (!answered) {
      world_.complain(what + ": " + answered.error().message());
      co_return std::nullopt;
    }
    co_return std::move(*answered);
  }

  /// Sleeps, but not past news.
  [[nodiscard]] boost::asio::awaitable<void> nap(std::chrono::steady_clock::duration length) {
    boost::system::error_code woken;
    world_.news.expires_after(length);
    co_await world_.news.async_wait(boost::asio::redirect_error(boost::asio::use_awaitable, woken));
  }

  /// INT or TERM end the play early, a second one the process.
  void stop_on_signals() {
    if (!signals_) signals_ = std::make_unique<boost::asio::signal_set>(world_.home.context, SIGINT, SIGTERM);
    signals_->async_wait([this](const boost::system::error_code& failed, int) {
      if (failed) return;
      if (world_.is_stopping) ::_exit(130);
      world_.is_stopping = true;
      stop_on_signals();
    });
  }
  void ignore_signals() {
    if (signals_) signals_->cancel();
  }

 private:
  World& world_;
  net::http_client service_;
  std::chrono::milliseconds patience_;
  std::unique_ptr<boost::asio::signal_set> signals_;
};

/// Tells the thread that waits for a play that its coroutine has ended, however it did.
class finish_line {
 public:
  explicit finish_line(std::promise<void>& reached) : reached_(reached) {}
  ~finish_line() { reached_.set_value(); }
  finish_line(const finish_line&) = delete;
  finish_line& operator=(const finish_line&) = delete;

 private:
  std::promise<void>& reached_;
};

}  // namespace kvc::sim
