// Every allocation of a loop fails in turn, those of its coroutines and operations as well: it goes on.
#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <new>
#include <string_view>
#include <utility>

#include <boost/asio/cancellation_state.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/test/unit_test.hpp>

#include "core/catalog.hpp"
#include "net/lasting_task.hpp"
#include "net/log.hpp"
#include "tests/allocation/watched_heap.hpp"

BOOST_AUTO_TEST_SUITE(lasting_tasks)

namespace {

using namespace kvc;
namespace asio = boost::asio;
using kvc::test::watched_heap;

struct scene {
  core::catalog catalog;
  net::runtime lanes{1, catalog};
  std::size_t rounds = 0;
  bool is_to_be_lost = false;  ///< as often as it is set

  scene() {
    net::log::set_sink([](net::log::level, std::string_view) {});
    asio::post(here().context, [this] { net::spawn_lasting(here(), "a loop that must go on", [this] { return loop(); }); });
  }
  ~scene() {
    asio::post(here().context, [this] { here().tasks.cancel(asio::cancellation_type::total); });
    turn(2'000);
    BOOST_TEST(here().tasks.running() == 0U);
    net::log::set_sink({});
  }
  scene(const scene&) = delete;
  scene& operator=(const scene&) = delete;

  net::lane& here() { return lanes.at(0); }

  /// In pieces that are as large as nothing was before, so that each needs memory of its own.
  asio::awaitable<void> loop() {
    co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
    co_await asio::this_coro::throw_if_cancelled(false);
    for (;;) {
      const asio::cancellation_state state = co_await asio::this_coro::cancellation_state;
      if (state.cancelled() != asio::cancellation_type::none) co_return;
      if (std::exchange(is_to_be_lost, false)) co_await get_lost();
      try {
        co_await rest<100>();
        co_await rest<5'000>();
        ++rounds;
      } catch (const std::bad_alloc&) {  // costs a round
      }
    }
  }
  template <std::size_t bytes>
  asio::awaitable<void> rest() {
    std::array<char, bytes> filling{};
    filling.back() = 'x';
    asio::steady_timer soon(here().context, std::chrono::microseconds(filling.size() % 7));
    boost::system::error_code woken;
    co_await soon.async_wait(asio::redirect_error(asio::use_awaitable, woken));
    if (filling.back() != 'x') ++rounds;
  }
  /// What Asio does with a coroutine whose operation cannot begin.
  static asio::awaitable<void> get_lost() {
    co_await asio::async_initiate<const asio::use_awaitable_t<>&, void()>([](auto handler) { const auto gone = std::move(handler); },
                                                                          asio::use_awaitable);
  }
  void turn(std::size_t times) {
    for (std::size_t i = 0; i < times; ++i) {
      try {
        here().context.run_one_for(std::chrono::milliseconds(1));
      } catch (const std::bad_alloc&) {
      }
    }
  }
};

}  // namespace

// An index that is to be kept within its budget was not from the moment on when its lane was short of memory.
BOOST_AUTO_TEST_CASE(a_loop_goes_on_whatever_memory_was_missing) {
  scene at;
  at.turn(20);  // it has begun
  std::size_t failures = 0;
  for (long number = 0; number < 200; ++number) {
    BOOST_TEST_CONTEXT("allocation " << number) {
      watched_heap::before_failure = number % 20;
      at.turn(40);
      failures += watched_heap::before_failure < 0 ? 1U : 0U;
      watched_heap::before_failure = -1;
      const std::size_t before = at.rounds;
      for (int patience = 0; patience < 5'000 && at.rounds == before; ++patience) at.turn(1);
      BOOST_TEST_REQUIRE(at.rounds > before);
    }
  }
  BOOST_TEST(failures > 10U);
}

BOOST_AUTO_TEST_CASE(a_loop_that_was_dropped_is_begun_again) {
  scene at;
  at.turn(20);
  for (int times = 0; times < 5; ++times) {
    at.is_to_be_lost = true;
    const std::size_t before = at.rounds;
    for (int patience = 0; patience < 5'000 && (at.is_to_be_lost || at.rounds < before + 2); ++patience) at.turn(1);
    BOOST_TEST_REQUIRE(!at.is_to_be_lost);
    BOOST_TEST_REQUIRE(at.rounds >= before + 2);
  }
}

BOOST_AUTO_TEST_SUITE_END()
