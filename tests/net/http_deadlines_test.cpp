// Sessions and time: who is waited for, and how long.
#include <cstddef>
#include <cstdint>
#include <functional>

#include <boost/test/unit_test.hpp>

#include "tests/support/net/http_fixture.hpp"

BOOST_AUTO_TEST_SUITE(http_deadlines)

namespace {

using namespace kvc;
using namespace kvc::net;
using namespace std::chrono_literals;
using test::raw_answer;
using test::raw_client;
using test::with;
using server_fixture = test::served<test::toy_service>;

}  // namespace

BOOST_AUTO_TEST_CASE(cuts_off_a_client_that_sends_a_byte_now_and_then) {
  // Each byte is progress, but the head and the body have a deadline as a whole.
  const server_fixture under_test(with([](http_settings& settings) {
    settings.header_timeout = 200ms;
    settings.body_timeout = 200ms;
  }));
  for (const std::string begin : {"G", "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n"}) {
    raw_client client = under_test.connect();
    BOOST_TEST(client.send(begin));
    BOOST_TEST(client.trickles_until_closed('x', 10ms));
  }
  BOOST_TEST(server_fixture::eventually([&] { return under_test.sum(&core::lane_counters::connections_open) == 0; }));
  BOOST_TEST(under_test.sum(&core::lane_counters::connections_timed_out) == 2U);
}

BOOST_AUTO_TEST_CASE(closes_silent_connections) {
  // Idle, in the middle of a head, and in the middle of a body: each has its own deadline.
  const server_fixture under_test(with([](http_settings& settings) {
    settings.idle_timeout = 100ms;
    settings.header_timeout = 100ms;
    settings.body_timeout = 100ms;
  }));
  for (const std::string begin : {"", "GET / HT", "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nhalf"}) {
    raw_client client = under_test.connect();
    client.send(begin);
    BOOST_TEST(client.is_closed());
  }
  BOOST_TEST(server_fixture::eventually([&] { return under_test.sum(&core::lane_counters::connections_timed_out) == 3; }));
}

BOOST_AUTO_TEST_CASE(counts_silence_from_the_last_answer) {
  // A connection that is used outlives its idle time; after that it has the whole of it once more.
  constexpr std::chrono::milliseconds idle = 600ms;
  const server_fixture under_test(with([=](http_settings& settings) { settings.idle_timeout = idle; }));
  raw_client client = under_test.connect();
  const auto end = std::chrono::steady_clock::now() + 2 * idle;
  auto last = std::chrono::steady_clock::now();  // when the last question was asked: the answer came later, and we may hear of it late
  while (last < end) {
    last = std::chrono::steady_clock::now();
    BOOST_REQUIRE(client.ask("POST", "/echo", "hi").body == "hi");
  }
  BOOST_TEST(under_test.sum(&core::lane_counters::connections_timed_out) == 0U);
  BOOST_TEST(client.is_closed());
  BOOST_TEST((std::chrono::steady_clock::now() - last >= idle - 20ms));
  BOOST_TEST(under_test.sum(&core::lane_counters::connections_accepted) == 1U);
  BOOST_TEST(under_test.sum(&core::lane_counters::connections_timed_out) == 1U);
}

BOOST_AUTO_TEST_CASE(a_request_that_stays_unfinished_ends_earlier_than_silence) {
  // The deadline of a head is nearer than the one the session was waiting for.
  const server_fixture under_test(with([](http_settings& settings) { settings.header_timeout = 100ms; }));
  raw_client client = under_test.connect();
  BOOST_TEST(client.ask("POST", "/echo", "hi").body == "hi");
  client.send("GET / HT");
  BOOST_TEST(client.is_closed());
  BOOST_TEST(under_test.sum(&core::lane_counters::connections_timed_out) == 1U);
}

BOOST_AUTO_TEST_CASE(goes_on_without_a_reader_that_does_not_read) {
  // A client that takes no answer holds its own session only, and not for ever.
  const server_fixture under_test(with([](http_settings& settings) { settings.write_timeout = 300ms; }), 1);
  raw_client slow = under_test.connect();
  slow.shrink_receive_buffer(1'024);
  std::string requests;
  for (int i = 0; i < 8; ++i) requests += raw_client::request("GET", "/large");
  BOOST_TEST(slow.send(requests));

  for (int i = 0; i < 20; ++i) BOOST_TEST(test::ask(under_test.port(), "POST", "/echo", "quick").body == "quick");
  BOOST_TEST(server_fixture::eventually([&] { return under_test.sum(&core::lane_counters::connections_timed_out) == 1; }));
}

BOOST_AUTO_TEST_CASE(gives_up_waiting_for_a_handler) {
  // The client gets its answer in time; the work goes on to its end.
  const server_fixture under_test(with([](http_settings& settings) { settings.handler_timeout = 50ms; }));
  raw_client client = under_test.connect();
  const raw_answer late = client.ask("GET", "/wait?patience=300");

  BOOST_TEST(late.status == 503);
  BOOST_TEST(late.header("retry-after") == "1");
  BOOST_TEST(client.ask("POST", "/echo", "next").body == "next");
  BOOST_TEST(server_fixture::eventually([&] { return under_test.service.answered == 1; }));
}

BOOST_AUTO_TEST_CASE(bounds_the_memory_of_answers_that_clients_do_not_take) {
  // Two of 8 MiB fit into 20 MiB. What is small is answered all the same, and so is everything once somebody has taken his.
  const server_fixture under_test(with([](http_settings& settings) { settings.body_budget_bytes = 20U << 20; }));
  std::vector<raw_client> holders;
  for (int i = 0; i < 2; ++i) {
    holders.push_back(under_test.connect());
    holders.back().shrink_receive_buffer(64 << 10);
    holders.back().send(raw_client::request("GET", "/large"));
  }
  const auto answered = [&] {
    std::uint64_t all = 0;
    for (std::size_t i = 0; i < under_test.lanes.size(); ++i) {
      all += under_test.lanes.at(i).counters.routes[static_cast<std::size_t>(core::route::inspect)].by_status_class[2].get();
    }
    return all;
  };
  BOOST_TEST(server_fixture::eventually([&] { return answered() == 2; }));
  const raw_answer refused = test::ask(under_test.port(), "GET", "/large");
  BOOST_TEST(refused.status == 503);
  BOOST_TEST(refused.header("retry-after") == "1");
  BOOST_TEST(refused.body.find(R"("reason":"overloaded")") != std::string::npos);
  BOOST_TEST(test::ask(under_test.port(), "POST", "/echo", "small").body == "small");

  BOOST_TEST(holders.front().receive().body.size() == (8U << 20));
  BOOST_TEST(server_fixture::eventually([&] { return test::ask(under_test.port(), "GET", "/large").status == 200; }));
}

BOOST_AUTO_TEST_SUITE_END()
