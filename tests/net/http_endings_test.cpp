// How connections end: no answer is lost with them, and no stop waits for one that is over.
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/cancellation_type.hpp>
#include <boost/test/unit_test.hpp>

#include "tests/support/net/http_fixture.hpp"
#include "tests/support/net/lone_lane.hpp"

BOOST_AUTO_TEST_SUITE(http_endings)

namespace {

using namespace kvc;
using namespace kvc::net;
using namespace std::chrono_literals;
using test::lone_lane;
using test::raw_client;

constexpr std::size_t large_bytes = 8U << 20;  // as /large says

/// One session, and its client.
struct talk {
  /// `send_buffer`: see lone_lane.
  explicit talk(int send_buffer = 16 << 10) : client(lane.connect(lone_lane::wire::loopback, send_buffer)) {}
  ~talk() { ::close(client); }
  talk(const talk&) = delete;
  talk& operator=(const talk&) = delete;

  void say(std::string_view text) {
    BOOST_TEST_REQUIRE(::send(client, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size()));
    lane.poll();
  }
  /// Hears what there is by now; how much.
  std::size_t hear() {
    std::array<char, 65'536> some;
    const ssize_t got = ::recv(client, some.data(), some.size(), 0);
    if (got < 0 && errno != EAGAIN) failed = errno;
    has_ended = has_ended || got == 0 || failed != 0;
    if (got <= 0) return 0;
    heard.append(some.data(), static_cast<std::size_t>(got));
    return static_cast<std::size_t>(got);
  }
  /// Goes on until `holds`, for 20 s at most.
  bool until(const std::function<bool()>& holds) {
    for (const auto end = std::chrono::steady_clock::now() + 20s; std::chrono::steady_clock::now() < end;) {
      if (holds()) return true;
      lane.poll();
      if (!has_ended && !is_deaf) (void)hear();
    }
    return false;
  }

  test::toy_service service;
  lone_lane lane{service, http_settings{}};
  int client;
  bool is_deaf = false;
  std::string heard;
  bool has_ended = false;
  int failed = 0;
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_stop_ends_a_connection_whose_answer_is_taken_after_it) {
  // It was asked to leave when it could not, and is not asked twice: it stayed until the client's time to take the answer was over.
  talk it;
  it.say(raw_client::request("GET", "/large"));
  BOOST_TEST_REQUIRE(it.hear() > 0U);
  it.lane.ask_to_leave(boost::asio::cancellation_type::total);
  it.lane.poll();
  BOOST_TEST(it.lane.shared.connections == 1U, "the request in hand is finished");

  BOOST_TEST(it.until([&] { return it.has_ended; }));
  BOOST_TEST(it.failed == 0);
  BOOST_TEST(it.heard.size() > large_bytes);
  BOOST_TEST(it.lane.here().tasks.running() == 0U);
}

BOOST_AUTO_TEST_CASE(a_stop_ends_a_connection_on_which_only_an_empty_line_has_come) {
  // Half of one may be the beginning of a request, which would be waited for.
  talk it;
  it.say("\r");
  it.lane.ask_to_leave(boost::asio::cancellation_type::total);
  it.lane.poll();
  BOOST_TEST(it.lane.shared.connections == 1U);
  it.say("\n");

  BOOST_TEST(it.until([&] { return it.has_ended && it.lane.here().tasks.running() == 0; }));
}

BOOST_AUTO_TEST_CASE(what_is_sent_behind_the_last_request_costs_no_answer) {
  // Old clients end a body with a line end that is none of it. Unread, it made a reset of the close, and what was on its way was lost.
  talk it(0);
  const std::string body(300'000, 'b');
  it.say("POST /wait?patience=20 HTTP/1.0\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n");
  for (std::size_t at = 0; at < body.size(); at += 10'000) it.say(body.substr(at, 10'000));
  it.say("\r\n");
  it.is_deaf = true;  // what the client has no room for is on its way
  BOOST_TEST(it.until([&] { return it.lane.here().counters.bytes_out.get() > body.size(); }));

  it.is_deaf = false;
  BOOST_TEST(it.until([&] { return it.has_ended; }));
  BOOST_TEST(it.failed == 0);
  BOOST_TEST(it.heard.size() - (it.heard.find("\r\n\r\n") + 4) == body.size());
}

BOOST_AUTO_TEST_CASE(a_stop_leaves_a_client_the_time_to_take_its_last_answer) {
  // Whoever was leaving already was left at once: what it went on to send made a reset of that, and its answer was on its way.
  talk it(0);
  const std::string body(300'000, 'b');
  it.say("POST /wait?patience=20 HTTP/1.0\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n");
  for (std::size_t at = 0; at < body.size(); at += 10'000) it.say(body.substr(at, 10'000));
  it.say("\r\n");
  it.is_deaf = true;
  BOOST_TEST(it.until([&] { return it.lane.here().counters.bytes_out.get() > body.size(); }));
  it.lane.ask_to_leave(boost::asio::cancellation_type::total);
  it.lane.poll();
  it.say("\r\n");
  it.lane.poll();

  it.is_deaf = false;
  BOOST_TEST(it.until([&] { return it.has_ended; }));
  BOOST_TEST(it.failed == 0);
  BOOST_TEST(it.heard.size() - (it.heard.find("\r\n\r\n") + 4) == body.size());
}

BOOST_AUTO_TEST_CASE(a_head_that_is_refused_is_answered_with_a_head) {
  // What is refused before it is understood is of a method nevertheless: a body would be taken for the next answer (RFC 9110, 9.3.2).
  for (const std::string_view rest : {"\r\n\r\n", "\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n"}) {
    talk it;
    it.say("HEAD /echo HTTP/1.1" + std::string(rest));
    BOOST_TEST(it.until([&] { return it.has_ended; }));
    BOOST_TEST(it.heard.starts_with("HTTP/1.1 4"), it.heard);
    BOOST_TEST(it.heard.ends_with("\r\n\r\n"), it.heard);
  }
}

BOOST_AUTO_TEST_SUITE_END()
