#include "net/replay_gate.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <vector>

#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/test/unit_test.hpp>

#include "net/errc.hpp"
#include "net/task_scope.hpp"

BOOST_AUTO_TEST_SUITE(replay_gate)

namespace {

using namespace kvc;
namespace asio = boost::asio;
using clock = std::chrono::steady_clock;

/// Streams that ask for replays, and how many of them were inside together.
struct crowd {
  net::replay_gate gate;
  asio::io_context context{1};
  net::task_scope tasks{context.get_executor()};
  std::vector<std::size_t> order;
  std::size_t most = 0;

  asio::awaitable<void> ask(std::size_t who, clock::duration answer) {
    net::replay_gate::visitor me;
    const net::replay_gate::pass pass = co_await gate.enter(me);
    order.push_back(who);
    most = std::max(most, gate.inside());
    asio::steady_timer done(context, answer);
    net::error_code woken;
    co_await done.async_wait(asio::redirect_error(asio::use_awaitable, woken));
  }
  /// All leave now: those who wait, and those whose answer is under way.
  void stop() {
    tasks.cancel(asio::cancellation_type::terminal);
    context.restart();
    context.run();
  }
  void come(std::size_t streams, clock::duration answer) {
    for (std::size_t i = 0; i < streams; ++i) tasks.spawn("replay", ask(order.size() + i, answer));
  }
  /// A thousand come at once, and all of them are served, in their order.
  void serve_a_thousand(clock::duration answer) {
    come(1'000, answer);
    context.run();
    BOOST_TEST(order.size() == 1'000U);
    BOOST_TEST(std::ranges::is_sorted(order));
    BOOST_TEST(gate.inside() == 0U);
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_thousand_streams_that_ask_at_once_are_served_some_at_a_time_and_in_their_order) {
  // Each answer under way has a socket and a queue of its own.
  crowd here;
  here.serve_a_thousand(std::chrono::microseconds(10));
  BOOST_TEST(here.most <= 2 * net::replay_gate::room);  // twice, in case this machine stands still for once
}

BOOST_AUTO_TEST_CASE(a_slow_machine_does_not_let_everybody_in_together) {
  // All of them together take three times as long as one may wait for a silent publisher.
  crowd here;
  here.serve_a_thousand(std::chrono::milliseconds(20));
  BOOST_TEST(here.most <= 2 * net::replay_gate::room);
}

BOOST_AUTO_TEST_CASE(publishers_that_do_not_answer_hold_up_the_others_for_a_bounded_time) {
  constexpr std::size_t silent = 2 * net::replay_gate::room;
  crowd here;
  const auto came = clock::now();
  here.come(silent + 1, std::chrono::hours(1));
  here.context.poll();
  BOOST_TEST_REQUIRE(here.order.size() == net::replay_gate::room);

  while (here.order.size() <= silent) here.context.run_one();
  BOOST_TEST((clock::now() - came >= 2 * net::replay_gate::patience));
  BOOST_TEST(std::ranges::is_sorted(here.order));
  BOOST_TEST(here.gate.inside() == silent + 1);
  here.stop();
}

// A stream that was unregistered waited its turn first: 200 ms for each 32 before it, none of which was for anything.
BOOST_AUTO_TEST_CASE(who_leaves_waits_for_nobody_and_the_others_move_up) {
  crowd here;
  here.come(2 * net::replay_gate::room, std::chrono::hours(1));
  net::replay_gate::visitor leaving;
  std::size_t times = 0;
  const auto come_and_go = [&]() -> asio::awaitable<void> {
    const net::replay_gate::pass pass = co_await here.gate.enter(leaving);
    ++times;
  };
  here.tasks.spawn("leaving", come_and_go());
  here.come(1, std::chrono::hours(1));
  here.context.poll();
  BOOST_TEST_REQUIRE(times == 0U);

  leaving.leave();
  here.context.poll();
  BOOST_TEST(times == 1U);
  BOOST_TEST(here.gate.inside() == here.order.size());

  // Who has left does not wait again.
  here.tasks.spawn("has left", come_and_go());
  here.context.poll();
  BOOST_TEST(times == 2U);
  BOOST_TEST(here.gate.inside() == here.order.size());
  here.stop();
}

BOOST_AUTO_TEST_CASE(those_who_are_stopped_leave_no_pass_behind) {
  // A lane that shuts down ends those who are inside and those who wait.
  crowd here;
  here.come(2 * net::replay_gate::room, std::chrono::hours(1));
  here.context.poll();
  BOOST_TEST(here.gate.inside() == net::replay_gate::room);

  here.stop();
  BOOST_TEST(here.tasks.running() == 0U);
  BOOST_TEST(here.gate.inside() == 0U);
}

BOOST_AUTO_TEST_SUITE_END()
