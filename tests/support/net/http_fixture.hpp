// A server over real loopback sockets, against a service that answers what the test wants.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "core/catalog.hpp"
#include "net/http_reply.hpp"
#include "net/http_server.hpp"
#include "tests/support/net/raw_client.hpp"

namespace kvc::test {

/// /echo gives the body back, /size its length, /large 8 MiB, /shared 8 MiB that all replies have and the body, /fails throws, /wait the
/// body after `patience` milliseconds, anything else 404.
class toy_service final : public net::http_service {
 public:
  net::http_plan plan(const net::http_request& head) override {
    net::http_plan planned;
    planned.counter = core::route::inspect;
    planned.waits = head.path == "/wait";
    const bool is_known = planned.waits || head.path == "/echo" || head.path == "/size" || head.path == "/large" ||
                          head.path == "/shared" || head.path == "/fails";
    if (!is_known) planned.refusal = net::reply_with(net::refusal{net::refusal_kind::unknown_path, "no"}, head.answer_form);
    return planned;
  }
  net::http_reply answer_now(net::lane&, const net::http_request& request, const net::http_plan&) override {
    if (request.path == "/echo") return net::ok_reply(std::string(request.body), net::wire_form::text);
    if (request.path == "/shared") {
      net::http_reply reply = net::ok_reply(std::string(request.body), net::wire_form::text);
      reply.shared = shared;
      return reply;
    }
    if (request.path == "/fails") throw std::runtime_error("as asked");
    if (request.path == "/large") return net::ok_reply(std::string(8U << 20, 'x'), net::wire_form::text);
    return net::ok_reply(std::to_string(request.body.size()), net::wire_form::text);
  }
  boost::asio::awaitable<net::http_reply> answer(net::lane&, const net::http_request& request, const net::http_plan&) override {
    const auto executor = co_await boost::asio::this_coro::executor;
    boost::asio::steady_timer timer(executor, std::chrono::milliseconds(std::stoi(std::string(request.parameter("patience")))));
    net::error_code woken;
    co_await timer.async_wait(boost::asio::redirect_error(boost::asio::use_awaitable, woken));
    ++answered;
    co_return net::ok_reply(std::string(request.body), net::wire_form::text);
  }

  std::atomic<int> answered{0};
  const std::shared_ptr<const std::string> shared = std::make_shared<const std::string>(8U << 20, 's');
};

/// A server on a free port with a service of type `Service`.
template <class Service>
struct served {
  explicit served(net::http_settings settings = {}, std::size_t lane_count = 2)
      : lanes(lane_count, catalog), server(lanes, service, std::move(settings)) {
    lanes.start(false);
    if (const auto failure = server.listen("127.0.0.1", 0)) throw std::runtime_error(failure->message());
    server.start();
  }
  ~served() { lanes.stop(std::chrono::seconds(10)); }

  [[nodiscard]] std::uint16_t port() const { return server.ports().front(); }
  [[nodiscard]] raw_client connect() const { return raw_client(port()); }
  [[nodiscard]] std::uint64_t sum(const core::lane_counter core::lane_counters::*which) const {
    std::uint64_t total = 0;
    for (std::size_t i = 0; i < lanes.size(); ++i) total += (lanes.at(i).counters.*which).get();
    return total;
  }
  /// Waits for another thread's effect; false after 20 s.
  static bool eventually(const std::function<bool()>& holds) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!holds()) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      std::this_thread::yield();
    }
    return true;
  }

  core::catalog catalog;
  Service service;
  net::runtime lanes;
  net::http_server server;
};

[[nodiscard]] inline net::http_settings with(const std::function<void(net::http_settings&)>& change) {
  net::http_settings settings;
  change(settings);
  return settings;
}

}  // namespace kvc::test
