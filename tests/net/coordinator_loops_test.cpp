// Loops of the coordinator whose rounds throw: what goes on, what is told of it, and how they end.
#include "net/coordinator_loops.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/test/unit_test.hpp>

#include "core/catalog.hpp"
#include "tests/support/net/eventually.hpp"
#include "tests/support/net/heard_log.hpp"

BOOST_AUTO_TEST_SUITE(coordinator_loops)

namespace {

namespace asio = boost::asio;
using namespace kvc;
using namespace std::chrono_literals;
using action = core::resync_fsm::action;
using round_of_work = std::function<asio::awaitable<void>()>;

net::coordinator_settings quick() {
  net::coordinator_settings settings;
  settings.resync_poll_interval = 1ms;
  settings.resync_max_wait = 60s;
  return settings;
}

asio::awaitable<void> loop_of(net::coordinator_context& context, round_of_work round, std::chrono::nanoseconds interval = 1ms) {
  co_await asio::this_coro::throw_if_cancelled(false);
  co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
  co_await net::in_rounds(context, "test", interval, std::move(round));
}

/// The coordinator's lane, run by the test.
struct loops_fixture {
  core::catalog catalog;
  net::runtime lanes{1, catalog};
  net::lane& home = lanes.at(0);
  net::coordinator_context context{home, quick()};

  ~loops_fixture() { BOOST_TEST(leaves()); }

  [[nodiscard]] bool leaves() {
    home.tasks.cancel(asio::cancellation_type::total);
    return comes_to([this] { return home.tasks.running() == 0; });
  }
  template <class Condition>
  [[nodiscard]] bool comes_to(Condition&& holds) {
    return test::run_until(home.context, holds);
  }
  void join(const std::string& id) {
    core::mp_server server;
    server.instance_id = id;
    server.ip = "127.0.0.1";
    server.http_port = 1;
    const auto now = std::chrono::steady_clock::now();
    BOOST_REQUIRE(context.tables.servers.add(std::move(server), now, std::chrono::system_clock::now()).has_value());
  }
};

std::size_t lines_about(const std::vector<std::string>& lines, const std::string& what) {
  const auto found = std::ranges::count_if(lines, [&](const std::string& line) { return line.find(what) != std::string::npos; });
  return static_cast<std::size_t>(found);
}

}  // namespace

BOOST_FIXTURE_TEST_CASE(a_round_that_throws_costs_its_loop_nothing_but_the_round, loops_fixture) {
  // Short of memory for a moment: nothing would be evicted any more, and no silent server dropped, until somebody restarts the process.
  const test::heard_log log;
  std::size_t rounds = 0;
  home.tasks.spawn("loop", loop_of(context, [&]() -> asio::awaitable<void> {
                     if (++rounds <= 8) throw std::runtime_error("no memory");
                     co_return;
                   }));
  BOOST_TEST(comes_to([&] { return rounds >= 10; }));

  BOOST_TEST(lines_about(log.lines(), "a round failed") == 4U, "the first, the second, the fourth and the eighth");
  BOOST_TEST(lines_about(log.lines(), "\"no memory\"") == 4U);
  BOOST_TEST(home.tasks.running() == 1U);
  BOOST_TEST(leaves());
}

BOOST_FIXTURE_TEST_CASE(an_interval_that_is_as_good_as_none_leaves_the_lane_time, loops_fixture) {
  // A setting of 1e-9 seconds is legal, and had a lane do nothing but look for a server to ask.
  constexpr std::size_t some_rounds = 10;
  std::size_t rounds = 0;
  const auto began = std::chrono::steady_clock::now();
  const round_of_work round = [&]() -> asio::awaitable<void> {
    ++rounds;
    co_return;
  };
  home.tasks.spawn("loop", loop_of(context, round, 1ns));
  BOOST_TEST(comes_to([&] { return rounds >= some_rounds; }));
  BOOST_TEST((std::chrono::steady_clock::now() - began >= some_rounds * 1ms));
  BOOST_TEST(leaves());
}

BOOST_FIXTURE_TEST_CASE(a_round_that_a_stop_interrupts_ends_its_loop_and_is_no_failure, loops_fixture) {
  const test::heard_log log;
  std::size_t rounds = 0;
  home.tasks.spawn("loop", loop_of(context, [&]() -> asio::awaitable<void> {
                     ++rounds;
                     asio::steady_timer never(home.context, asio::steady_timer::time_point::max());
                     co_await never.async_wait(asio::use_awaitable);  // throws that it was interrupted
                   }));
  BOOST_TEST(comes_to([&] { return rounds == 1; }));
  BOOST_TEST(leaves());
  BOOST_TEST(rounds == 1U);
  BOOST_TEST(log.lines().empty());
}

BOOST_FIXTURE_TEST_CASE(a_listing_goes_on_when_a_page_throws, loops_fixture) {
  // Eviction waits for its end, which would never come.
  join("a");
  join("b");
  std::vector<std::string> asked;
  const auto ask = [&](net::coordinator_context& with, core::resync_fsm& machine) -> asio::awaitable<action> {
    asked.push_back(machine.server());
    if (asked.size() == 1) throw std::runtime_error("no memory");
    const std::vector<std::string> registered{"a", "b"};
    BOOST_TEST(with.tables.holds_eviction());
    co_return machine.on_page(std::chrono::steady_clock::now(), {}, registered);
  };
  context.tables.resync = core::resync_fsm::phase::waiting;
  home.tasks.spawn("listing", net::resync_once(context, ask));
  BOOST_TEST(comes_to([&] { return home.tasks.running() == 0; }));

  BOOST_TEST(asked.size() == 2U);
  BOOST_TEST(asked.front() != asked.back(), "it counts as a page that failed");
  BOOST_TEST(context.tables.resync_servers_failed == 1U);
  BOOST_TEST((context.tables.resync == core::resync_fsm::phase::complete));
  BOOST_TEST(!context.tables.holds_eviction());
}

BOOST_FIXTURE_TEST_CASE(a_listing_whose_page_throws_ends_with_its_task, loops_fixture) {
  join("a");
  std::size_t asked = 0;
  const auto ask = [&](net::coordinator_context&, core::resync_fsm&) -> asio::awaitable<action> {
    ++asked;
    throw std::runtime_error("no memory");
    co_return action::finish;
  };
  home.tasks.spawn("listing", net::resync_once(context, ask));
  BOOST_TEST(comes_to([&] { return asked == 1; }));
  BOOST_TEST(leaves());
  BOOST_TEST(home.tasks.failed() == 0U);
}

BOOST_AUTO_TEST_SUITE_END()
