#include "net/lane_turns.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <sys/socket.h>
#include <unistd.h>
#include <vector>

#include <boost/asio/cancellation_state.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/test/unit_test.hpp>

#include "net/ready_sockets.hpp"
#include "net/task_scope.hpp"

BOOST_AUTO_TEST_SUITE(lane_turns)

namespace {

using namespace kvc;
namespace asio = boost::asio;

constexpr std::size_t streams = 50;
constexpr std::size_t turns_each = 40;

/// Streams that always have more to do, and the order in which they got their turns.
struct busy_lane {
  net::lane_turns turns;
  asio::io_context context{1};
  net::task_scope tasks{context.get_executor()};
  std::vector<std::size_t> order;

  asio::awaitable<void> work(std::size_t who, std::size_t times) {
    for (std::size_t i = 0; i < times; ++i) {
      co_await turns.next();
      order.push_back(who);
    }
  }
  asio::awaitable<void> work_until_cancelled(std::size_t who) {
    co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
    co_await asio::this_coro::throw_if_cancelled(false);
    for (;;) {
      const asio::cancellation_state state = co_await asio::this_coro::cancellation_state;
      if (state.cancelled() != asio::cancellation_type::none) co_return;
      co_await turns.next();
      order.push_back(who);
    }
  }
  void start() {
    for (std::size_t who = 0; who < streams; ++who) tasks.spawn("busy", work(who, turns_each));
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(turns_go_round) {
  // Nobody gets a second turn while somebody else waits for a first.
  busy_lane here;
  here.start();
  here.context.run();

  BOOST_TEST_REQUIRE(here.order.size() == streams * turns_each);
  for (std::size_t i = streams; i < here.order.size(); ++i) BOOST_TEST_REQUIRE(here.order[i] == here.order[i - streams]);
}

BOOST_AUTO_TEST_CASE(other_work_waits_for_one_turn_however_many_streams_are_busy) {
  // A query on a lane with fifty streams behind must not wait for fifty pieces of work.
  busy_lane here;
  here.start();
  std::size_t seen = 0;
  std::size_t longest = 0;
  struct bystander {
    busy_lane& at;
    std::size_t& seen;
    std::size_t& longest;
    void look() {
      longest = std::max(longest, at.order.size() - seen);
      seen = at.order.size();
      if (seen < streams * turns_each) asio::post(at.context, [this] { look(); });
    }
  };
  bystander other{here, seen, longest};
  asio::post(here.context, [&] { other.look(); });
  here.context.run();

  BOOST_TEST(seen == streams * turns_each);
  BOOST_TEST(longest <= 1U);
}

BOOST_AUTO_TEST_CASE(what_a_socket_asks_in_one_turn_is_answered_before_the_next) {
  // Through the lane's queue alone it would wait behind the turn that is about to begin.
  struct client final : net::ready_sockets::client {
    client() { BOOST_REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()) == 0); }
    ~client() override {
      for (const int each : ends) ::close(each);
    }
    client(const client&) = delete;
    client& operator=(const client&) = delete;
    void on_ready() noexcept override {
      std::array<char, 100> text{};
      for (ssize_t got = 0; (got = ::read(ends[0], text.data(), text.size())) > 0;) answered += static_cast<std::size_t>(got);
    }
    std::array<int, 2> ends{};
    std::size_t answered = 0;
  };
  busy_lane here;
  net::ready_sockets sockets(here.context);
  client asking;
  std::vector<std::size_t> answered;  // of all that had been asked, at the beginning of each turn
  asio::post(here.context, [&] {
    sockets.start();
    BOOST_REQUIRE(sockets.watch(asking.ends[0], asking));
    here.turns.look_at(sockets);
  });
  const auto ask_each_turn = [&]() -> asio::awaitable<void> {
    for (std::size_t asked = 0; asked < 100; ++asked) {
      BOOST_TEST_REQUIRE(::write(asking.ends[1], "?", 1) == 1);
      co_await here.turns.next();
      answered.push_back(asking.answered);
    }
    here.context.stop();
  };
  asio::post(here.context, [&] { here.tasks.spawn("asking", ask_each_turn()); });
  here.context.run();

  BOOST_TEST_REQUIRE(answered.size() == 100U);
  for (std::size_t i = 0; i < answered.size(); ++i) BOOST_TEST_REQUIRE(answered[i] == i + 1);
}

BOOST_AUTO_TEST_CASE(who_is_cancelled_while_waiting_leaves_and_the_others_go_on) {
  busy_lane here;
  net::task_scope impatient{here.context.get_executor()};
  for (std::size_t i = 0; i < 3; ++i) impatient.spawn("impatient", here.work_until_cancelled(streams + i));
  here.start();
  asio::post(here.context, [&] { impatient.cancel(asio::cancellation_type::total); });
  here.context.run();

  BOOST_TEST(impatient.running() == 0U);
  const auto patient = std::ranges::count_if(here.order, [](std::size_t who) { return who < streams; });
  BOOST_TEST(static_cast<std::size_t>(patient) == streams * turns_each);
}

BOOST_AUTO_TEST_CASE(a_turn_is_over_when_it_has_taken_its_time) {
  // Before the first turn there is none, so whoever works first hands over first.
  net::lane_turns turns;
  BOOST_TEST(turns.is_over());
}

BOOST_AUTO_TEST_SUITE_END()
