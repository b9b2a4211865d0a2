// The client that the simulator and other parts talk with, against a server that misbehaves on purpose.
#include "net/http_client.hpp"

#include <exception>
#include <functional>
#include <thread>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/test/unit_test.hpp>

#include "tests/support/net/api_fixture.hpp"
#include "tests/support/net/http_fixture.hpp"

BOOST_AUTO_TEST_SUITE(http_client_)

namespace {

using namespace kvc::net;
using namespace std::chrono_literals;
using asio::ip::tcp;

/// Accepts connections one after the other; on each it reads once per script line and sends that line, then closes.
struct scripted_server {
  asio::io_context context{1};
  tcp::acceptor acceptor{context, tcp::endpoint(asio::ip::address_v4::loopback(), 0)};
  int connections = 0;
  bool lingers = false;  ///< neither reads nor closes behind a script
  asio::steady_timer left_alone{context, asio::steady_timer::time_point::max()};
  tcp::socket* serving = nullptr;  ///< while a script is played

  [[nodiscard]] std::uint16_t port() const { return acceptor.local_endpoint().port(); }

  asio::awaitable<void> play(std::vector<std::vector<std::string>> scripts) {
    for (std::size_t i = 0; i < scripts.size(); ++i) {
      error_code failed;
      tcp::socket socket = co_await acceptor.async_accept(asio::redirect_error(asio::use_awaitable, failed));
      ++connections;
      serving = &socket;
      for (std::size_t line = 0; line < scripts[i].size(); ++line) {
        std::array<char, 4096> request;
        const auto space = asio::buffer(request);
        co_await socket.async_read_some(space, asio::redirect_error(asio::use_awaitable, failed));
        if (failed) break;
        const auto text = asio::buffer(scripts[i][line]);
        co_await asio::async_write(socket, text, asio::redirect_error(asio::use_awaitable, failed));
      }
      if (lingers) co_await left_alone.async_wait(asio::redirect_error(asio::use_awaitable, failed));
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
      left_alone.cancel();
    });
    context.run();
    if (failure) std::rethrow_exception(failure);
  }
};

std::string answer_of(std::string_view body) {
  return "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + std::string(body);
}

const std::string ok = answer_of("ok");

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

asio::awaitable<void> find_too_large(http_client& client) {
  const auto answer = co_await client.call("GET", "/", "", 20s);
  BOOST_TEST_REQUIRE(!answer.has_value());
  BOOST_TEST(answer.error() == make_error_code(errc::message_too_large));
}

asio::awaitable<void> gather_crumbs(http_client& client) {
  const auto answer = co_await client.call("GET", "/", "", 20s);
  BOOST_TEST_REQUIRE(answer.has_value());
  BOOST_TEST(answer->body == std::string(30'000, 'x'));
}

asio::awaitable<void> fail_once(http_client& client) {
  const auto answer = co_await client.call("POST", "/", "{}", 20s);
  BOOST_TEST(answer.has_error());
}

/// Three different answers, in the order of the questions.
asio::awaitable<void> ask_in_order(http_client& client) {
  for (const std::string_view expected : {"one", "two", "three"}) {
    const auto answer = co_await client.call("GET", "/", "", 20s);
    BOOST_REQUIRE(answer.has_value());
    BOOST_TEST(answer->status == 200U);
    BOOST_TEST(answer->body == expected);
  }
}

asio::awaitable<void> ask_after_surplus(http_client& client, scripted_server& server) {
  const auto first = co_await client.call("GET", "/", "", 20s);
  BOOST_REQUIRE(first.has_value());
  asio::write(*server.serving, asio::buffer(answer_of("nobody's")));
  const auto second = co_await client.call("GET", "/", "", 20s);
  BOOST_REQUIRE(second.has_value());
  BOOST_TEST(second->body == "two");
}

asio::awaitable<void> read_odd_bodies(http_client& client) {
  const auto chunked = co_await client.call("POST", "/", "{}", 20s);
  BOOST_REQUIRE(chunked.has_value());
  BOOST_TEST(chunked->body == "hello");
  const auto until_close = co_await client.call("POST", "/", "{}", 20s);
  BOOST_REQUIRE(until_close.has_value());
  BOOST_TEST(until_close->body == "to the end");
}

/// Of which the server takes the beginning only.
asio::awaitable<void> send_too_much(http_client& client) {
  const auto small = co_await client.call("GET", "/", "", 20s);
  BOOST_REQUIRE(small.has_value());
  const auto refused = co_await client.call("POST", "/", std::string(32U << 20, 'x'), 20s);
  BOOST_REQUIRE_MESSAGE(refused.has_value(), refused.error().message());
  BOOST_TEST(refused->status == 413U);
  const auto next = co_await client.call("GET", "/", "", 20s);
  BOOST_REQUIRE(next.has_value());
  BOOST_TEST(next->body == "ok");
}

/// The same, of a server that does not close either.
asio::awaitable<void> send_too_much_to_one_who_stays(http_client& client) {
  const auto refused = co_await client.call("POST", "/", std::string(32U << 20, 'x'), 20s);
  BOOST_REQUIRE_MESSAGE(refused.has_value(), refused.error().message());
  BOOST_TEST(refused->status == 413U);
}

asio::awaitable<void> send_too_much_in_vain(http_client& client) {
  const auto answer = co_await client.call("POST", "/", std::string(32U << 20, 'x'), 100ms);
  BOOST_TEST_REQUIRE(!answer.has_value());
  BOOST_TEST(answer.error() == make_error_code(errc::timed_out));
}

asio::awaitable<void> send_much_twice(http_client& client) {
  for (int i = 0; i < 2; ++i) {
    const auto taken = co_await client.call("POST", "/size", std::string(32U << 20, 'x'), 20s);
    BOOST_REQUIRE_MESSAGE(taken.has_value(), taken.error().message());
    BOOST_TEST(taken->body == std::to_string(32U << 20));
  }
}

}  // namespace

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

BOOST_AUTO_TEST_CASE(passes_over_interim_answers) {
  // Proxies send early hints; taken for the answer they would shift every later one by a request.
  const std::string hints = "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n";
  scripted_server server;
  server.run({{hints + answer_of("one"), answer_of("two"), "HTTP/1.1 100 Continue\r\n\r\n" + hints + answer_of("three")}}, ask_in_order);
  BOOST_TEST(server.connections == 1);

  std::string endless;
  for (int i = 0; i < 20; ++i) endless += hints;
  scripted_server chatty;
  chatty.run({{endless}}, fail_once);
}

BOOST_AUTO_TEST_CASE(what_stands_around_a_body_is_bounded_as_the_body_is) {
  const std::string chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
  const std::string much(300'000, 'x');
  std::string trailers;
  for (int i = 0; i < 30'000; ++i) trailers += "t: " + std::to_string(i) + "\r\n";
  for (const std::string& each : {chunked + "1;x=" + much, chunked + "1\r\nx\r\n0\r\n" + trailers, chunked + "1\r\nx\r\n0\r\nt: " + much,
                                  "HTTP/1.1 200 OK\r\n" + trailers}) {
    scripted_server server;
    server.run({{each}}, find_too_large);
  }
  // Many small chunks are no reason to complain.
  std::string crumbs = chunked;
  for (int i = 0; i < 30'000; ++i) crumbs += "1\r\nx\r\n";
  scripted_server server;
  server.run({{crumbs + "0\r\n\r\n"}}, gather_crumbs);
}

BOOST_AUTO_TEST_CASE(never_takes_surplus_bytes_for_the_next_answer) {
  // A second answer to one question belongs to nobody, whether it comes with the first one or while the connection rests.
  scripted_server server;
  server.run({{answer_of("one") + answer_of("nobody's")}, {answer_of("two") + "rubbish"}, {answer_of("three")}}, ask_in_order);
  BOOST_TEST(server.connections == 3);

  scripted_server late;
  late.run({{answer_of("one"), answer_of("wrong")}, {answer_of("two")}},
           [&late](http_client& client) { return ask_after_surplus(client, late); });
  BOOST_TEST(late.connections == 2);
}

BOOST_AUTO_TEST_CASE(hears_why_a_request_is_refused_before_it_is_sent) {
  // The end of the connection was all it heard of that, and it sent the whole again where the connection had been used before.
  scripted_server server;
  server.run({{ok, "HTTP/1.1 413 Content Too Large\r\nContent-Length: 2\r\n\r\nno"}, {ok}}, send_too_much);
  BOOST_TEST(server.connections == 2);
}

BOOST_AUTO_TEST_CASE(hears_why_a_request_is_refused_by_who_neither_reads_on_nor_closes) {
  // All of the request had to be sent before anything was read, and so there was nothing but the deadline.
  scripted_server server;
  server.lingers = true;
  const std::string refusal = "HTTP/1.1 413 Content Too Large\r\nContent-Length: 2\r\n\r\nno";
  server.run({{"HTTP/1.1 100 Continue\r\n\r\n" + refusal}}, send_too_much_to_one_who_stays);
  scripted_server silent;
  silent.lingers = true;
  silent.run({{""}}, send_too_much_in_vain);
}

BOOST_AUTO_TEST_CASE(keeps_its_connection_behind_a_long_request) {
  // One that is sent while its answer is waited for.
  const kvc::test::served<kvc::test::toy_service> under_test;
  asio::io_context context;
  http_client client(context.get_executor(), "127.0.0.1", under_test.port());
  std::exception_ptr failure;
  asio::co_spawn(context, send_much_twice(client), [&](std::exception_ptr thrown) { failure = thrown; });
  context.run();
  if (failure) std::rethrow_exception(failure);
  BOOST_TEST(under_test.sum(&kvc::core::lane_counters::connections_accepted) == 1U);
}

BOOST_AUTO_TEST_CASE(reads_bodies_however_they_are_delimited) {
  // In chunks, and by the end of the connection.
  scripted_server server;
  server.run(
      {{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n", "HTTP/1.0 200 OK\r\n\r\nto the end"}},
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
