// Calls over a bounded number of connections: how long each of its parts may take.
#include "net/mp_caller.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <iterator>
#include <list>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/test/unit_test.hpp>

#include "tests/support/net/eventually.hpp"
#include "tests/support/net/stub_mp_server.hpp"
#include "tests/support/setting.hpp"

BOOST_AUTO_TEST_SUITE(mp_calls)

namespace {

using namespace kvc;
using namespace kvc::test;
using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;

/// A server that keeps everybody waiting, and one connection to it.
struct busy_fixture {
  busy_fixture() { server.hold(); }

  struct outcome {
    std::optional<net::result<net::http_client::answer>> answer;
    [[nodiscard]] bool is(const net::error_code& what) const { return answer && !*answer && answer->error() == what; }
  };

  /// The outcome outlives the call.
  void call(outcome& into, steady::duration patience, steady::time_point latest = net::mp_caller::never) {
    const auto told = [this, &into, patience, latest]() -> net::asio::awaitable<void> {
      into.answer = co_await calls.call("127.0.0.1", server.port(), "GET", "/", {}, patience, net::mp_caller::most_answer_bytes, latest);
    };
    net::asio::co_spawn(context, told, [](std::exception_ptr failed) { BOOST_TEST(!failed); });
  }
  /// The same, and tells when it has ended.
  void call_and_tell(outcome& into, std::function<void()> told, net::asio::cancellation_slot slot = {}) {
    const auto work = [this, &into, told = std::move(told)]() -> net::asio::awaitable<void> {
      into.answer = co_await calls.call("127.0.0.1", server.port(), "GET", "/", {}, 20s);
      if (told) told();
    };
    const auto ended = [](std::exception_ptr failed) { BOOST_TEST(!failed); };
    net::asio::co_spawn(context, work, net::asio::bind_cancellation_slot(slot, ended));
  }
  /// Runs the context until so many requests have come to the server and so many calls wait for a connection.
  bool comes_to(std::size_t requests, std::size_t waiting) {
    return run_until(context, [&] { return server.so_far().size() == requests && calls.waiting() == waiting; });
  }

  stub_mp_server server;
  net::asio::io_context context{1};
  net::mp_caller calls{context.get_executor(), {.per_server = 1}};
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(an_exchange_has_its_time_from_when_it_has_a_connection, busy_fixture) {
  // What a server has been sent, it is doing: it would do it for nobody if the time spent in line counted.
  constexpr steady::duration patience = 2s;
  outcome first;
  outcome second;
  call(first, 20s);
  BOOST_REQUIRE(comes_to(1, 0));
  const steady::time_point begun = steady::now();
  call(second, patience);
  BOOST_REQUIRE(comes_to(1, 1));
  context.run_until(begun + patience / 2);
  server.cut();  // the first one's connection comes free
  BOOST_REQUIRE(comes_to(2, 0));
  BOOST_TEST(!first.answer->has_value());

  context.run_until(begun + patience + 1ms);
  server.resume();
  BOOST_REQUIRE(run_until(context, [&] { return second.answer.has_value(); }));
  BOOST_REQUIRE(second.answer->has_value());
  BOOST_TEST((*second.answer)->status == 200U);
}

BOOST_FIXTURE_TEST_CASE(a_connection_is_not_waited_for_beyond_its_own_time, busy_fixture) {
  outcome first;
  outcome second;
  call(first, 20s);
  BOOST_REQUIRE(comes_to(1, 0));
  call(second, 50ms);
  BOOST_REQUIRE(run_until(context, [&] { return second.answer.has_value(); }));
  BOOST_TEST(second.is(net::errc::timed_out));
  BOOST_TEST(server.so_far().size() == 1U, "it was never sent");
  BOOST_TEST(!first.answer.has_value());
  server.resume();
  BOOST_TEST(run_until(context, [&] { return first.answer.has_value(); }));
}

BOOST_FIXTURE_TEST_CASE(a_call_has_ended_when_the_latest_moment_has_come, busy_fixture) {
  // One of them at its exchange, the other one behind it.
  outcome first;
  outcome second;
  const steady::time_point latest = steady::now() + 50ms;
  call(first, 20s, latest);
  call(second, 20s, latest);
  BOOST_REQUIRE(run_until(context, [&] { return first.answer.has_value() && second.answer.has_value(); }));
  BOOST_TEST(first.is(net::errc::timed_out));
  BOOST_TEST(second.is(net::errc::timed_out));
}

BOOST_FIXTURE_TEST_CASE(a_connection_that_comes_free_is_the_next_ones_alone, busy_fixture) {
  // Were all of them woken, a lane would have a thousand coroutines to resume for each answer of a slow server, and the last to come might
  // be the first to be served.
  constexpr std::size_t in_line = 300;
  outcome first;
  call(first, 20s);
  BOOST_REQUIRE(comes_to(1, 0));
  std::vector<outcome> others(in_line);
  std::vector<std::size_t> served;
  for (std::size_t i = 0; i < in_line; ++i) call_and_tell(others[i], [&served, i] { served.push_back(i); });
  BOOST_REQUIRE(comes_to(1, in_line));

  server.cut();
  std::size_t steps = 0;  // of whatever coroutine
  const steady::time_point deadline = steady::now() + 20s;
  while (server.so_far().size() < 2 && steady::now() < deadline) {
    context.restart();
    steps += context.run_for(2ms);
  }
  BOOST_REQUIRE(server.so_far().size() == 2U);
  BOOST_TEST(calls.waiting() == in_line - 1);
  BOOST_TEST(steps < in_line / 2);

  server.resume();
  BOOST_REQUIRE(run_until(context, [&] { return served.size() == in_line; }));
  BOOST_TEST(std::ranges::is_sorted(served));
  BOOST_TEST(calls.in_use() == 0U);
  BOOST_TEST(calls.waiting() == 0U);
}

BOOST_FIXTURE_TEST_CASE(who_is_called_and_does_not_come_passes_the_connection_on, busy_fixture) {
  // The second is given up in the very moment in which it gets the first one's connection, before it can do anything with it.
  net::asio::cancellation_signal leave;
  outcome first;
  outcome second;
  outcome third;
  call_and_tell(first, [&] { leave.emit(net::asio::cancellation_type::terminal); });
  BOOST_REQUIRE(comes_to(1, 0));
  call_and_tell(second, {}, leave.slot());
  call_and_tell(third, {});
  BOOST_REQUIRE(comes_to(1, 2));

  server.cut();
  BOOST_REQUIRE(comes_to(2, 0));
  server.resume();
  BOOST_REQUIRE(run_until(context, [&] { return third.answer.has_value(); }));
  BOOST_TEST(third.answer->has_value());
  BOOST_TEST(second.is(net::errc::cancelled));
  BOOST_TEST(server.so_far().size() == 2U, "the second was never sent");
  BOOST_TEST(calls.in_use() == 0U);
}

BOOST_FIXTURE_TEST_CASE(a_connection_is_passed_to_whoever_may_use_it, busy_fixture) {
  // The longest in line waits for a server that has all it may have; the one behind it waits for any connection at all.
  net::mp_caller two(context.get_executor(), {.per_server = 1, .in_all = 2});
  stub_mp_server other;
  stub_mp_server third;
  std::vector<outcome> made(4);
  const auto ask = [&](std::size_t which, const stub_mp_server& whom) {
    const auto work = [&two, &into = made[which], port = whom.port()]() -> net::asio::awaitable<void> {
      into.answer = co_await two.call("127.0.0.1", port, "GET", "/", {}, 20s);
    };
    net::asio::co_spawn(context, work, [](std::exception_ptr failed) { BOOST_TEST(!failed); });
  };
  other.hold();
  ask(0, server);
  ask(1, other);
  BOOST_REQUIRE(run_until(context, [&] { return server.so_far().size() == 1 && other.so_far().size() == 1; }));
  ask(2, server);
  ask(3, third);
  BOOST_REQUIRE(run_until(context, [&] { return two.waiting() == 2; }));

  other.resume();
  BOOST_REQUIRE(run_until(context, [&] { return made[3].answer.has_value(); }));
  BOOST_TEST(made[3].answer->has_value());
  BOOST_TEST(!made[2].answer.has_value());
  server.resume();
  BOOST_REQUIRE(run_until(context, [&] { return made[0].answer.has_value() && made[2].answer.has_value(); }));
  BOOST_TEST(two.in_use() == 0U);
}

BOOST_AUTO_TEST_CASE(no_connection_is_lost_whatever_becomes_of_calls) {
  // To servers that answer, that never do, and that hang up; some calls are cancelled wherever they are, some have next to no time.
  const std::uint64_t first = setting("KVC_PROPERTY_SEED", 17);
  const std::uint64_t lives = setting("KVC_PROPERTY_STREAMS", 6);
  BOOST_TEST_MESSAGE("seeds from " << first << ", " << lives << " lives");
  stub_mp_server good;
  stub_mp_server silent;
  silent.hold();
  stub_mp_server broken([](const stub_mp_server::asked&) { return stub_mp_server::told{.breaks_off = true}; });
  const std::array<stub_mp_server*, 3> servers{&good, &silent, &broken};
  struct one_call {
    std::size_t server = 0;
    bool has_time = true;
    bool has_begun = false;
    bool is_cancelled = false;
    bool has_ended = false;
    bool has_thrown = false;
    std::optional<net::result<net::http_client::answer>> answer;
    net::asio::cancellation_signal leave;
  };
  for (std::uint64_t seed = first; seed < first + lives; ++seed) {
    std::mt19937_64 random(seed);
    net::asio::io_context context{1};
    net::mp_caller calls(context.get_executor(), {.per_server = 2, .in_all = 3, .idle = 2, .waiting = 6});
    std::list<one_call> all;
    const auto begin = [&](std::size_t server, bool has_time) {
      one_call& fresh = all.emplace_back();
      fresh.server = server;
      fresh.has_time = has_time;
      const auto work = [&calls, &fresh, port = servers[server]->port()]() -> net::asio::awaitable<void> {
        fresh.has_begun = true;
        fresh.answer = co_await calls.call("127.0.0.1", port, "GET", "/", {}, fresh.has_time ? steady::duration(20s) : 1ms);
      };
      net::asio::co_spawn(context, work, net::asio::bind_cancellation_slot(fresh.leave.slot(), [&fresh](std::exception_ptr failed) {
                            fresh.has_ended = true;
                            fresh.has_thrown = failed != nullptr;
                          }));
    };
    const auto cancel = [](one_call& gone) {
      if (!gone.has_begun) return;  // what Boost 1.83 throws to the context then is not of the calls
      gone.is_cancelled = true;
      if (!gone.has_ended) gone.leave.emit(net::asio::cancellation_type::terminal);
    };
    for (int step = 0; step < 300; ++step) {
      if (random() % 3 == 0) begin(random() % 3, random() % 4 != 0);
      if (random() % 5 == 0 && !all.empty()) cancel(*std::next(all.begin(), static_cast<std::ptrdiff_t>(random() % all.size())));
      context.restart();
      for (std::uint64_t turns = random() % 8; turns != 0; --turns) context.poll_one();
      if (random() % 10 == 0) context.run_for(1ms);
      BOOST_REQUIRE(calls.in_use() <= 3U);
      BOOST_REQUIRE(calls.waiting() <= 6U);
    }
    context.restart();
    context.poll();  // all have begun
    for (one_call& each : all) {
      if (each.server == 1) cancel(each);  // else it would take its whole time
    }
    BOOST_REQUIRE(run_until(context, [&] { return std::ranges::all_of(all, &one_call::has_ended); }));
    BOOST_TEST_CONTEXT("seed " << seed) {
      for (const one_call& each : all) {
        BOOST_REQUIRE((!each.has_thrown || each.is_cancelled));
        if (each.has_thrown || each.is_cancelled || !each.has_time) continue;
        const bool is_turned_away = !*each.answer && each.answer->error() == net::errc::overloaded;
        BOOST_REQUIRE((is_turned_away || each.answer->has_value() == (each.server == 0)));
      }
      BOOST_REQUIRE(calls.in_use() == 0U);
      BOOST_REQUIRE(calls.waiting() == 0U);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
