// The client that the simulator and other parts talk with, against a server that misbehaves on purpose.
#include "net/http_client.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/test/unit_test.hpp>
#include <exception>
#include <functional>
#include <thread>
#include <vector>

#include "tests/support/net/api_fixture.hpp"

namespace {

using namespace kvc::net;
using namespace std::chrono_literals;
using asio::ip::tcp;

/// Accepts connections one after the other; on each it reads once per script line and sends that line, then closes.
struct scripted_server {
  asio::io_context context{1};
  tcp::acceptor acceptor{context, tcp::endpoint(asio::ip::address_v4::loopback(), 0)};
  int connections = 0;

  [[nodiscard]] std::uint16_t port() const { return acceptor.local_endpoint().port(); }

  asio::awaitable<void> play(std::vector<std::vector<std::string>> scripts) {
    for (std::size_t i = 0; i < scripts.size(); ++i) {
      error_code failed;
      tcp::socket socket = co_await acceptor.async_accept(asio::redirect_error(asio::use_awaitable, failed));
      ++connections;
      for (std::size_t line = 0; line < scripts[i].size(); ++line) {
        std::array<char, 4096> request;
        const auto space = asio::buffer(request);
        co_await socket.async_read_some(space, asio::redirect_error(asio::use_awaitable, failed));
        if (failed) break;
        const auto text = asio::buffer(scripts[i][line]);
        co_await asio::async_write(socket, text, asio::redirect_error(asio::use_awaitable, failed));
      }
    }
  }

  void run(std::vector<std::vector<std::string>> scripts, std::function<asio::awaitable<void>(http_client&)> client_part) {
    http_client client(context.get_executor(), "127.0.0.1", port());
    std::exception_ptr failure;
    const auto rethrow = [&](std::exception_ptr thrown) {
      if (thrown) failure = thrown;
    };
    asio::co_spawn(context, play(std::move(scripts)), rethrow);
    asio::co_spawn(context, client_part(client), [&, rethrow](std::exception_ptr thrown) {
      rethrow(thrown);
      acceptor.close();
    });
    context.run();
    if (failure) std::rethrow_exception(failure);
  }
};

const std::string ok = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nok";

asio::awaitable<void> ask_twice(http_client& client) {
  for (int i = 0; i < 2; ++i) {
    const auto answer = co_await client.call("GET", "/", "", 20s);
    BOOST_REQUIRE(answer.has_value());
    BOOST_TEST(answer->status == 200U);
    BOOST_TEST(answer->content_type == "text/plain");
    BOOST_TEST(answer->body == "ok");
  }
}

asio::awaitable<void> wait_in_vain(http_client& client) {
  const auto answer = co_await client.call("GET", "/", "", 50ms);
  BOOST_TEST((answer.error() == errc::timed_out));
}

asio::awaitable<void> fail_once(http_client& client) {
  const auto answer = co_await client.call("POST", "/", "{}", 20s);
  BOOST_TEST(answer.has_error());
}

asio::awaitable<void> read_odd_bodies(http_client& client) {
  const auto chunked = co_await client.call("POST", "/", "{}", 20s);
  BOOST_REQUIRE(chunked.has_value());
  BOOST_TEST(chunked->body == "hello");
  const auto until_close = co_await client.call("POST", "/", "{}", 20s);
  BOOST_REQUIRE(until_close.has_value());
  BOOST_TEST(until_close->body == "to the end");
}

}  // namespace

BOOST_AUTO_TEST_SUITE(http_client_)

BOOST_AUTO_TEST_CASE(keeps_its_connection) {
  // The simulator asks thousands of times a second.
  scripted_server server;
  server.run({{ok, ok}}, ask_twice);
  BOOST_TEST(server.connections == 1);
}

BOOST_AUTO_TEST_CASE(opens_a_closed_connection_again) {
  // Servers close idle connections; that is no failure of the next call.
  scripted_server server;
  server.run({{ok}, {ok}}, ask_twice);
  BOOST_TEST(server.connections == 2);
}

BOOST_AUTO_TEST_CASE(gives_up_at_the_deadline) {
  // A server that never answers must not hold its caller.
  scripted_server server;
  server.run({{"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", ""}}, wait_in_vain);
}

BOOST_AUTO_TEST_CASE(does_not_ask_twice_on_a_fresh_connection) {
  // A request that may have been carried out is not repeated behind the caller's back.
  scripted_server server;
  server.run({{"HTTP/1.1 200 OK\r\nContent-Le"}}, fail_once);
  BOOST_TEST(server.connections == 1);
}

BOOST_AUTO_TEST_CASE(reads_bodies_however_they_are_delimited) {
  // In chunks, and by the end of the connection.
  scripted_server server;
  server.run({{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n",
               "HTTP/1.0 200 OK\r\n\r\nto the end"}},
             read_odd_bodies);
}

namespace {

asio::awaitable<void> talk_to_conductor(http_client& client) {
  const auto alive = co_await client.call("GET", "/healthz", "", 20s);
  BOOST_REQUIRE(alive.has_value());
  BOOST_TEST(alive->body == R"({"status":"healthy"})");
  const auto head = co_await client.call("HEAD", "/metrics", "", 20s);
  BOOST_REQUIRE(head.has_value());
  BOOST_TEST(head->body == "");
  const auto wrong = co_await client.call("POST", "/query", "{", 20s);
  BOOST_REQUIRE(wrong.has_value());
  BOOST_TEST(wrong->status == 400U);
}

/// A system without /etc/hosts, such as a bare chroot, knows no names; the conversation is worth having there too.
std::string name_of_this_host(asio::io_context& context) {
  boost::system::error_code failed;
  asio::ip::tcp::resolver(context).resolve("localhost", "", failed);
  return failed ? "127.0.0.1" : "localhost";
}

}  // namespace

BOOST_AUTO_TEST_CASE(talks_to_the_real_server_by_name) {
  // The two sides were written to the same contract; here they meet.
  kvc::test::api_fixture service;
  asio::io_context context;
  http_client client(context.get_executor(), name_of_this_host(context), service.port());
  std::exception_ptr failure;
  asio::co_spawn(context, talk_to_conductor(client), [&](std::exception_ptr thrown) { failure = thrown; });
  context.run();
  if (failure) std::rethrow_exception(failure);
}

BOOST_AUTO_TEST_SUITE_END()
