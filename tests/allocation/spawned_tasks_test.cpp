// Every allocation of spawning a task fails in turn: the task runs, or was never there, and its scope comes to an end.
#include <cstddef>
#include <new>

#include <boost/asio/cancellation_state.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/test/unit_test.hpp>

#include "net/task_scope.hpp"
#include "tests/allocation/watched_heap.hpp"

BOOST_AUTO_TEST_SUITE(spawned_tasks)

namespace {

namespace asio = boost::asio;
using kvc::test::watched_heap;

struct scene {
  asio::io_context context{1};
  kvc::net::task_scope tasks{context.get_executor()};
  std::size_t ended = 0;

  asio::awaitable<void> rest_until_told() {
    co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
    co_await asio::this_coro::throw_if_cancelled(false);
    asio::steady_timer never(context, asio::steady_timer::time_point::max());
    boost::system::error_code woken;
    co_await never.async_wait(asio::redirect_error(asio::use_awaitable, woken));
    ++ended;
  }
  /// False: it was not spawned.
  bool spawn(long allocations) {
    auto work = rest_until_told();
    watched_heap::before_failure = allocations;
    bool is_spawned = true;
    try {
      tasks.spawn("a task with a name that takes memory of its own", std::move(work));
    } catch (const std::bad_alloc&) {
      is_spawned = false;
    }
    watched_heap::before_failure = -1;
    return is_spawned;
  }
};

/// False: memory was not short.
bool play(long allocations, bool is_leaving_before) {
  scene here;
  const std::size_t spawned = 1U + (here.spawn(allocations) ? 1U : 0U);
  const bool has_failed = spawned == 1U;
  BOOST_REQUIRE(here.spawn(-1));
  if (!is_leaving_before) here.context.poll();
  here.tasks.cancel(asio::cancellation_type::total);
  here.context.restart();
  here.context.poll();

  BOOST_TEST_CONTEXT("allocation " << allocations) {
    BOOST_TEST(here.tasks.running() == 0U);
    BOOST_TEST(here.ended == spawned);
  }
  here.tasks.cancel(asio::cancellation_type::terminal);
  here.context.poll();
  return has_failed;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_task_that_could_not_be_spawned_is_not_waited_for) {
  // A stop would wait for it as long as it waits at all, and call the process unclean.
  for (const bool is_leaving_before : {false, true}) {
    long allocations = 0;
    while (play(allocations, is_leaving_before)) ++allocations;
    // One that is spawned although something was wanting leaves when it is told, like any other.
    for (long further = 0; further < 4; ++further) (void)play(allocations + further, is_leaving_before);
    BOOST_TEST(allocations > 1);
  }
}

BOOST_AUTO_TEST_SUITE_END()
