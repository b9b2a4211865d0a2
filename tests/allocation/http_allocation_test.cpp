// Every allocation of a lane that serves HTTP fails in turn, but those for Asio's operations and coroutines: it uses what it has freed
// where these fail, and nothing here could help. The client may be answered or not; the next one is served as ever, and a stop finds
// nothing that is left of them.
#include <arpa/inet.h>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <fcntl.h>
#include <functional>
#include <memory>
#include <netinet/in.h>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/test/unit_test.hpp>

#include "core/catalog.hpp"
#include "net/http_body.hpp"
#include "net/http_reply.hpp"
#include "net/http_server.hpp"
#include "net/log.hpp"
#include "net/runtime.hpp"
#include "tests/allocation/watched_heap.hpp"

BOOST_AUTO_TEST_SUITE(http_allocation)

namespace {

using namespace kvc;
using namespace kvc::net;
using namespace std::chrono_literals;
using kvc::test::watched_heap;

constexpr std::size_t piece_bytes = 2'000;

/// Three pieces.
class short_body final : public http_body {
 public:
  asio::awaitable<progress> next(lane& here, std::string& into) override {
    co_await asio::post(here.context, asio::use_awaitable);
    into.assign(piece_bytes, 'p');
    co_return --left_ == 0 ? progress::last : progress::piece;
  }

 private:
  int left_ = 3;
};

/// /wait gives the body back after a turn of the lane, /stream makes one while it is sent, anything else gives it back at once.
class small_service final : public http_service {
 public:
  http_plan plan(const http_request& head) override {
    http_plan planned;
    planned.waits = head.path == "/wait";
    return planned;
  }
  http_reply answer_now(lane&, const http_request& request, const http_plan&) override {
    if (request.path == "/stream") return stream_reply(std::make_shared<short_body>(), wire_form::text);
    return ok_reply(std::string(request.body), wire_form::text);
  }
  asio::awaitable<http_reply> answer(lane& here, const http_request& request, const http_plan&) override {
    co_await asio::post(here.context, asio::use_awaitable);
    co_return ok_reply(std::string(request.body), wire_form::text);
  }
};

/// A server on a lane that the test's own thread runs.
class stage {
 public:
  stage() {
    heard.reserve(100'000);  // its own memory does not fail
    http_settings settings;
    settings.handler_timeout = settings.write_timeout = settings.body_timeout = settings.header_timeout = 1h;
    server_ = std::make_unique<http_server>(lanes_, service_, settings);
    BOOST_TEST_REQUIRE(!server_->listen("127.0.0.1", 0).has_value());
    server_->start();
    turn();
  }
  ~stage() {
    if (client_ >= 0) ::close(client_);
  }

  void connect() {
    if (client_ >= 0) ::close(client_);
    heard.clear();
    has_ended = false;
    client_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    to.sin_port = htons(server_->ports().front());
    BOOST_TEST_REQUIRE(::connect(client_, reinterpret_cast<const sockaddr*>(&to), sizeof(to)) == 0);
    BOOST_TEST_REQUIRE(::fcntl(client_, F_SETFL, O_NONBLOCK) == 0);
  }
  void say(std::string_view text) { (void)!::send(client_, text.data(), text.size(), MSG_NOSIGNAL); }
  void hear() {
    std::array<char, 65'536> some;
    const ssize_t got = ::recv(client_, some.data(), some.size(), 0);
    if (got > 0) heard.append(some.data(), static_cast<std::size_t>(got));
    has_ended = has_ended || got == 0 || (got < 0 && errno != EAGAIN);
  }
  /// As a lane does: what a handler throws is not its end.
  void turn() {
    for (;;) {
      try {
        lanes_.at(0).context.poll();
        return;
      } catch (const std::bad_alloc&) {
      }
    }
  }
  bool until(const std::function<bool()>& holds) {
    for (const auto end = std::chrono::steady_clock::now() + 5s; std::chrono::steady_clock::now() < end;) {
      turn();
      hear();
      if (holds()) return true;
    }
    return false;
  }
  [[nodiscard]] bool is_answered() const { return heard.ends_with("the end") || heard.ends_with("0\r\n\r\n"); }
  [[nodiscard]] bool leaves() {
    asio::post(lanes_.at(0).context, [this] { lanes_.at(0).tasks.cancel(asio::cancellation_type::total); });
    return until([&] { return lanes_.at(0).tasks.running() == 0; });
  }
  [[nodiscard]] std::size_t connections() const { return server_->connections(); }

  std::string heard;
  bool has_ended = false;

 private:
  core::catalog catalog_;
  small_service service_;
  runtime lanes_{1, catalog_};
  std::unique_ptr<http_server> server_;
  int client_ = -1;
};

std::string request(std::string_view path, std::size_t bytes) {
  return "POST " + std::string(path) + " HTTP/1.1\r\nHost: x\r\nContent-Length: " + std::to_string(bytes + 7) + "\r\n\r\n" +
         std::string(bytes, 'b') + "the end";
}

/// Whether allocation number `number` of serving a new client failed.
bool fails_at(const std::string& asked, long number) {
  stage it;
  watched_heap::before_failure = number;
  it.connect();
  it.say(asked);
  std::size_t turns = 0;
  while (!it.is_answered() && !it.has_ended && ++turns < 50 && watched_heap::before_failure >= 0) {  // or it waits for what it has lost
    it.turn();
    it.hear();
  }
  const bool has_failed = watched_heap::before_failure < 0;
  watched_heap::before_failure = -1;
  if (!has_failed) BOOST_TEST(it.is_answered());

  const bool is_told = it.until([&] { return it.is_answered() || it.has_ended || it.heard.starts_with("HTTP/1.1 500 "); });
  BOOST_TEST(is_told, "the client is left alone");
  it.connect();
  it.say(request("/echo", 10));
  BOOST_TEST(it.until([&] { return it.is_answered(); }), "nobody else is served");
  BOOST_TEST(it.leaves(), "something is left");
  BOOST_TEST(it.connections() == 0U);
  return has_failed;
}

}  // namespace

BOOST_AUTO_TEST_CASE(want_of_memory_costs_a_connection_and_not_its_lane) {
  log::set_sink([](log::level, std::string_view) {});
  watched_heap::spares_aligned = true;
  for (const std::string& asked : {request("/echo", 10), request("/wait", 10), request("/stream", 10), request("/wait", 30'000)}) {
    BOOST_TEST_CONTEXT(asked.substr(0, 20)) {
      long number = 0;
      for (bool has_failed = true; has_failed && number < 2'000; ++number) {
        BOOST_TEST_CONTEXT("allocation " << number) {
          has_failed = fails_at(asked, number);
        }
      }
      BOOST_TEST(number > 10);
      BOOST_TEST(number < 2'000);
    }
  }
  watched_heap::spares_aligned = false;
  log::set_sink({});
}

BOOST_AUTO_TEST_SUITE_END()
