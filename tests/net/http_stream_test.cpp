// Bodies that are made while they are sent, over real loopback sockets.
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/test/unit_test.hpp>

#include "net/http_body.hpp"
#include "net/http_reply.hpp"
#include "tests/support/net/http_fixture.hpp"

BOOST_AUTO_TEST_SUITE(http_stream)

namespace {

using namespace kvc;
using namespace kvc::net;
using namespace std::chrono_literals;
using test::raw_answer;
using test::raw_client;

constexpr std::size_t piece_bytes = 64U << 10;

struct body_counts {
  std::atomic<int> alive{0};
  std::atomic<std::uint64_t> made{0};
};

/// `pieces` pieces of one letter each, then what `ending` says: "last", "broken", "late", "throw", or "" to go on for ever.
class toy_body final : public http_body {
 public:
  toy_body(body_counts& counts, int pieces, std::string ending) : counts_(counts), left_(pieces), ending_(std::move(ending)) {
    ++counts_.alive;
  }
  ~toy_body() override { --counts_.alive; }

  asio::awaitable<progress> next(lane&, std::string& into) override {
    if (ending_.empty() || left_ > 0) {
      --left_;
      into.assign(piece_bytes, static_cast<char>('a' + counts_.made++ % 26));
      co_return progress::piece;
    }
    if (ending_ == "broken") co_return progress::broken;
    if (ending_ == "throw") throw std::runtime_error("the source has failed");
    if (ending_ == "late") {
      asio::steady_timer timer(co_await asio::this_coro::executor, 300ms);
      error_code woken;
      co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, woken));
    }
    into = "end";
    co_return progress::last;
  }

 private:
  body_counts& counts_;
  int left_;
  std::string ending_;
};

class streaming_service final : public http_service {
 public:
  http_plan plan(const http_request&) override { return {}; }
  http_reply answer_now(lane&, const http_request& request, const http_plan&) override {
    if (request.path == "/echo") return ok_reply(std::string(request.body), wire_form::text);
    const int pieces = std::stoi("0" + std::string(request.parameter("pieces")));
    return stream_reply(std::make_shared<toy_body>(counts, pieces, std::string(request.parameter("ending"))), wire_form::text);
  }
  asio::awaitable<http_reply> answer(lane& here, const http_request& request, const http_plan& plan) override {
    co_return answer_now(here, request, plan);
  }

  body_counts counts;
};

/// One lane, so that everything takes turns.
struct stream_server : test::served<streaming_service> {
  explicit stream_server(http_settings settings = {}) : served(std::move(settings), 1) {}
};

}  // namespace

BOOST_AUTO_TEST_CASE(sends_a_body_in_chunks_and_keeps_the_connection) {
  // A long answer is an answer like any other: whole, in order, and the next request follows on the same connection.
  const stream_server under_test;
  raw_client client = under_test.connect();

  const raw_answer answer = client.ask("GET", "/stream?pieces=40&ending=last");
  BOOST_TEST(answer.status == 200);
  BOOST_TEST(answer.header("transfer-encoding") == "chunked");
  BOOST_TEST(answer.header("content-length") == "");
  BOOST_TEST(answer.body.size() == 40 * piece_bytes + 3);
  BOOST_TEST(answer.body.ends_with("end"));
  for (std::size_t i = 0; i < 40; ++i) BOOST_TEST(answer.body[i * piece_bytes] == static_cast<char>('a' + i % 26));
  BOOST_TEST(client.ask("GET", "/stream?pieces=0&ending=last").body == "end");
  BOOST_TEST(client.ask("POST", "/echo", "next").body == "next");
  BOOST_TEST(stream_server::eventually([&] { return under_test.service.counts.alive == 0; }));
}

BOOST_AUTO_TEST_CASE(a_kept_connection_gives_back_its_share_of_the_budget_for_bodies) {
  // The answer had let go of the body, and the connection kept what it had taken for it. A few of those, and nobody could send long
  // prompts.
  http_settings settings;
  settings.body_budget_bytes = 3 << 20;
  stream_server it(settings);
  const std::string body(2 << 20, 'x');
  auto first = it.connect();
  BOOST_TEST(first.ask("POST", "/body?pieces=3&ending=last", body).status == 200);

  BOOST_TEST(it.eventually([&] { return it.connect().ask("POST", "/echo", body).status == 200; }));
  BOOST_TEST(first.ask("POST", "/echo", "still there").body == "still there");
}

BOOST_AUTO_TEST_CASE(answers_head_without_making_the_body) {
  // A probe must not cost a dump.
  const stream_server under_test;
  raw_client client = under_test.connect();

  BOOST_TEST(client.ask("HEAD", "/stream?pieces=3&ending=last").status == 200);
  BOOST_TEST(client.ask("POST", "/echo", "next").body == "next");
  BOOST_TEST(under_test.service.counts.made == 0U);
}

BOOST_AUTO_TEST_CASE(ends_the_connection_behind_the_body_for_old_clients) {
  // HTTP/1.0 knows no chunks.
  const stream_server under_test;
  raw_client old = under_test.connect();

  old.send("GET /stream?pieces=2&ending=last HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  const std::string all = old.receive_until_closed();
  BOOST_TEST(all.find("Transfer-Encoding") == std::string::npos);
  BOOST_TEST(all.find("Connection: close") != std::string::npos);
  BOOST_TEST(all.size() - (all.find("\r\n\r\n") + 4) == 2 * piece_bytes + 3);
}

BOOST_AUTO_TEST_CASE(makes_no_more_than_a_slow_client_takes) {
  // Memory is bounded by one piece per session, whatever the client does; a client that takes nothing is given up.
  http_settings settings;
  settings.write_timeout = 500ms;
  const stream_server under_test(settings);
  raw_client slow = under_test.connect();
  slow.shrink_receive_buffer(1'024);

  BOOST_TEST(slow.send(raw_client::request("GET", "/stream")));
  BOOST_TEST(stream_server::eventually([&] { return under_test.service.counts.made > 0; }));
  BOOST_TEST(under_test.connect().ask("POST", "/echo", "quick").body == "quick");
  BOOST_TEST(stream_server::eventually([&] { return under_test.service.counts.alive == 0; }));
  BOOST_TEST(under_test.service.counts.made * piece_bytes < 64U << 20);  // what the kernel keeps, and no more
  BOOST_TEST(under_test.lanes.at(0).counters.connections_timed_out.get() == 1U);
}

BOOST_AUTO_TEST_CASE(a_client_that_takes_every_piece_in_time_but_is_too_slow_for_all_of_them_is_given_up) {
  // What is kept for the answer would be kept for as long as the client likes.
  http_settings settings;
  settings.write_timeout = 500ms;  // and as long again for 8 MiB
  const stream_server under_test(settings);
  asio::io_context context;
  asio::ip::tcp::socket slow(context, asio::ip::tcp::v4());
  slow.set_option(asio::socket_base::receive_buffer_size(128 << 10));  // what is read makes room soon
  slow.connect({asio::ip::address_v4::loopback(), under_test.port()});
  asio::write(slow, asio::buffer(raw_client::request("GET", "/stream")));
  slow.non_blocking(true);
  std::string some(64U << 10, '\0');

  const auto begun = std::chrono::steady_clock::now();
  std::size_t taken = 0;
  BOOST_TEST(stream_server::eventually([&] {
    // 8 MB/s: a piece is taken many times sooner than it has to be, all of them in twice their time.
    const auto so_far = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begun);
    error_code nothing_there;
    while (!nothing_there && taken < static_cast<std::size_t>(so_far.count()) * 8'000) {
      taken += slow.read_some(asio::buffer(some), nothing_there);
    }
    return under_test.lanes.at(0).counters.connections_timed_out.get() == 1U;
  }));
  BOOST_TEST(stream_server::eventually([&] { return under_test.service.counts.alive == 0; }));
}

BOOST_AUTO_TEST_CASE(stops_when_the_client_goes_away) {
  // Nobody makes a body that nobody reads.
  const stream_server under_test;
  {
    raw_client client = under_test.connect();
    BOOST_TEST(client.send(raw_client::request("GET", "/stream")));
    BOOST_TEST(stream_server::eventually([&] { return under_test.service.counts.made > 3; }));
  }
  BOOST_TEST(stream_server::eventually([&] { return under_test.service.counts.alive == 0; }));
  BOOST_TEST(under_test.connect().ask("POST", "/echo", "on").body == "on");
}

BOOST_AUTO_TEST_CASE(a_body_cut_short_can_be_told_from_a_whole_one) {
  // A source that breaks, throws, or misses its deadline: the last chunk never comes.
  http_settings settings;
  settings.handler_timeout = 50ms;
  const stream_server under_test(settings);
  for (const std::string ending : {"broken", "throw", "late"}) {
    raw_client client = under_test.connect();
    const raw_answer cut = client.ask("GET", "/stream?pieces=2&ending=" + ending);
    BOOST_TEST(cut.status == 0, ending);
    BOOST_TEST(cut.body.size() == 2 * piece_bytes, ending);
    BOOST_TEST(client.is_closed(), ending);
  }
  BOOST_TEST(stream_server::eventually([&] { return under_test.service.counts.alive == 0; }));
}

BOOST_AUTO_TEST_CASE(a_body_without_a_first_piece_is_a_failure_that_is_told) {
  // Nothing has been sent by then, and the connection ended without a word.
  http_settings settings;
  settings.handler_timeout = 50ms;
  const stream_server under_test(settings);
  for (const auto& [ending, status] : {std::pair("broken", 500), std::pair("throw", 500), std::pair("late", 503)}) {
    raw_client client = under_test.connect();
    const raw_answer failed = client.ask("GET", std::string("/stream?pieces=0&ending=") + ending);
    BOOST_TEST(failed.status == status, ending);
    BOOST_TEST(failed.header("transfer-encoding") == "", ending);
    BOOST_TEST(client.ask("POST", "/echo", "next").body == "next", ending);
  }
  raw_client old = under_test.connect();
  old.send("GET /stream?pieces=0&ending=broken HTTP/1.0\r\n\r\n");
  BOOST_TEST(old.receive_until_closed().starts_with("HTTP/1.1 500 "));

  const auto& counted = under_test.lanes.at(0).counters.routes[static_cast<std::size_t>(http_plan{}.counter)].by_status_class;
  BOOST_TEST(counted[5].get() == 4U);
  BOOST_TEST(counted[2].get() == 3U, "what was not sent does not count");
  BOOST_TEST(stream_server::eventually([&] { return under_test.service.counts.alive == 0; }));
}

BOOST_AUTO_TEST_CASE(an_endless_body_does_not_hold_up_a_stop) {
  // It would never end by itself, and a stop has a deadline.
  stream_server under_test;
  raw_client client = under_test.connect();
  BOOST_TEST(client.send(raw_client::request("GET", "/stream")));
  BOOST_TEST(stream_server::eventually([&] { return under_test.service.counts.made > 0; }));
  std::thread reader([&client] { (void)client.receive_until_closed(); });

  BOOST_TEST(under_test.lanes.stop(10s));
  reader.join();
  BOOST_TEST(under_test.service.counts.alive == 0);
}

BOOST_AUTO_TEST_CASE(a_client_that_takes_nothing_of_a_body_does_not_hold_up_a_stop) {
  // Each piece has its time to be taken, which is longer than a stop may last.
  stream_server under_test;
  raw_client client = under_test.connect();
  BOOST_TEST(client.send(raw_client::request("GET", "/stream")));
  std::size_t before = 0;
  int still = 0;
  BOOST_TEST(stream_server::eventually([&] {
    const std::size_t made = under_test.service.counts.made;
    still = made > 0 && made == before ? still + 1 : 0;
    before = made;
    return still == 20;  // as full as it gets
  }));
  BOOST_TEST(under_test.lanes.stop(10s));
  BOOST_TEST(under_test.service.counts.alive == 0);
}

BOOST_AUTO_TEST_SUITE_END()
