#include "net/task_scope.hpp"

#include <chrono>
#include <memory>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(task_scopes)

namespace {

namespace asio = boost::asio;
using kvc::net::task_scope;

/// Rests until it is asked to leave, as a connection does on which nothing happens.
asio::awaitable<void> rest_until_told() {
  co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
  co_await asio::this_coro::throw_if_cancelled(false);
  asio::steady_timer never(co_await asio::this_coro::executor, asio::steady_timer::time_point::max());
  boost::system::error_code woken;
  co_await never.async_wait(asio::redirect_error(asio::use_awaitable, woken));
}

struct scope_fixture {
  asio::io_context context;
  task_scope scope{context.get_executor()};

  bool all_leave() {
    auto gone = asio::co_spawn(context, scope.wait(std::chrono::seconds(20)), asio::use_future);
    context.restart();
    context.run();
    return gone.get();
  }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(tasks_leave_when_they_are_told, scope_fixture) {
  scope.spawn("resting", rest_until_told());
  context.poll();
  BOOST_TEST(scope.running() == 1U);

  scope.cancel(asio::cancellation_type::total);
  BOOST_TEST(all_leave());
}

BOOST_FIXTURE_TEST_CASE(a_task_hears_of_it_though_it_had_not_begun, scope_fixture) {
  // A stop that waits for it in vain takes it for a request that was cut off.
  scope.spawn("not begun", rest_until_told());
  scope.cancel(asio::cancellation_type::total);
  scope.spawn("later still", rest_until_told());
  BOOST_TEST(all_leave());
}

BOOST_FIXTURE_TEST_CASE(a_task_that_had_not_begun_leaves_at_once_in_its_own_way, scope_fixture) {
  // Boost 1.83 throws out of the context's loop what ends a coroutine that is cancelled before its first step.
  scope.spawn("not begun", rest_until_told());
  scope.cancel(asio::cancellation_type::terminal);
  BOOST_TEST(all_leave());
  BOOST_TEST(scope.failed() == 0U);
}

// What was posted to note that a task has begun may come behind its end, and behind that of the scope.
BOOST_AUTO_TEST_CASE(a_scope_may_go_as_soon_as_its_tasks_have_ended) {
  asio::io_context context;
  auto scope = std::make_unique<task_scope>(context.get_executor());
  const auto end_at_once = []() -> asio::awaitable<void> { co_return; };
  scope->spawn("short", end_at_once());
  while (scope->running() != 0) context.poll_one();
  scope.reset();
  context.poll();
}

BOOST_AUTO_TEST_SUITE_END()
