// Calls that are made for somebody who may leave: when they end, whatever happens to them. No socket.
#include "net/wanted_call.hpp"

#include <chrono>
#include <exception>
#include <functional>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <utility>

#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/test/unit_test.hpp>

#include "core/catalog.hpp"
#include "net/runtime.hpp"

BOOST_AUTO_TEST_SUITE(wanted_calls)

namespace {

using namespace kvc;
namespace asio = boost::asio;
using answered = net::result<net::http_client::answer>;

asio::awaitable<answered> answers(asio::io_context& lane) {
  co_await asio::post(lane, asio::use_awaitable);
  co_return net::http_client::answer{.status = 204, .content_type = {}, .body = {}};
}

asio::awaitable<answered> fails(asio::io_context& lane) {
  co_await asio::post(lane, asio::use_awaitable);
  throw std::runtime_error("no memory");
}

/// As long as nobody cancels it.
asio::awaitable<answered> waits(asio::io_context& lane) {
  asio::steady_timer never(lane, asio::steady_timer::time_point::max());
  net::error_code woken;
  co_await never.async_wait(asio::redirect_error(asio::use_awaitable, woken));
  co_return net::error_code(net::errc::timed_out);
}

/// A lane that the test runs, and a call on it.
struct call_fixture {
  ~call_fixture() {
    home.tasks.cancel(asio::cancellation_type::terminal);
    run([this] { return home.tasks.running() == 0; });
  }

  void run(const std::function<bool()>& holds) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!holds() && std::chrono::steady_clock::now() < deadline) {
      home.context.restart();
      home.context.poll();
    }
  }
  asio::awaitable<void> ask(asio::awaitable<answered> what) {
    answer = co_await net::make_wanted_call(home, "call", std::move(what), client.get_token());
  }
  void begin(asio::awaitable<answered> call) {
    asio::co_spawn(home.context, ask(std::move(call)), [this](std::exception_ptr failed) {
      failure = failed;
      has_ended = true;
    });
  }
  /// Whether nothing is left of a call.
  [[nodiscard]] bool is_over() const { return has_ended && home.tasks.running() == 0; }

  core::catalog catalog;
  net::runtime lanes{1, catalog};
  net::lane& home = lanes.at(0);
  std::stop_source client;
  std::optional<answered> answer;
  std::exception_ptr failure;
  bool has_ended = false;
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(a_call_is_answered, call_fixture) {
  begin(answers(home.context));
  run([this] { return is_over(); });

  BOOST_REQUIRE(answer && *answer);
  BOOST_TEST((*answer)->status == 204U);
  BOOST_TEST(home.tasks.failed() == 0U);
}

BOOST_FIXTURE_TEST_CASE(a_call_that_throws_has_ended, call_fixture) {
  // As for want of memory. The group it is in waited for a good end: for the client to go away, who waited for an answer.
  begin(fails(home.context));
  run([this] { return is_over(); });

  BOOST_TEST(is_over());
  BOOST_REQUIRE(failure);
  BOOST_CHECK_THROW(std::rethrow_exception(failure), std::runtime_error);
}

BOOST_FIXTURE_TEST_CASE(a_call_that_nobody_wants_ends, call_fixture) {
  begin(waits(home.context));
  home.context.poll();
  BOOST_TEST(!has_ended);
  client.request_stop();
  run([this] { return is_over(); });

  BOOST_TEST(is_over());
  BOOST_REQUIRE(answer.has_value());
  BOOST_TEST((answer->error() == net::errc::cancelled));
}

BOOST_FIXTURE_TEST_CASE(a_call_that_nobody_has_wanted_from_the_start_ends, call_fixture) {
  client.request_stop();
  begin(waits(home.context));
  run([this] { return is_over(); });

  BOOST_REQUIRE(answer.has_value());
  BOOST_TEST((answer->error() == net::errc::cancelled));
}

BOOST_FIXTURE_TEST_CASE(a_call_ends_with_its_lane_and_has_not_failed_by_that, call_fixture) {
  // Every stop with such a call under way had a line about a task that failed.
  begin(waits(home.context));
  home.context.poll();
  asio::post(home.context, [this] { home.tasks.cancel(asio::cancellation_type::total); });
  home.context.poll();
  BOOST_TEST(!has_ended, "what is being done is finished");
  asio::post(home.context, [this] { home.tasks.cancel(asio::cancellation_type::terminal); });
  run([this] { return is_over(); });

  BOOST_TEST(is_over());
  BOOST_TEST(home.tasks.failed() == 0U);
}

BOOST_AUTO_TEST_SUITE_END()
