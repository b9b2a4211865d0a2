// A coroutine beside a test's own, and who owns it.
#pragma once

#include <chrono>
#include <exception>
#include <memory>
#include <utility>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/test/unit_test.hpp>

namespace kvc::test {

/// Has ended, or gone with its lane, before its owner goes: the test fails otherwise. What it throws is thrown to who waits for its end.
class side_task {
 public:
  explicit side_task(boost::asio::io_context& lane, boost::asio::awaitable<void> work, boost::asio::cancellation_slot by = {})
      : outcome_(std::make_shared<outcome>()) {
    boost::asio::co_spawn(lane, std::move(work), boost::asio::bind_cancellation_slot(by, [kept = outcome_](std::exception_ptr thrown) {
                            kept->has_ended = true;
                            kept->thrown = std::move(thrown);
                          }));
  }
  ~side_task() { BOOST_TEST(outcome_.use_count() == 1, "a coroutine outlives its owner"); }
  side_task(const side_task&) = delete;
  side_task& operator=(const side_task&) = delete;

  [[nodiscard]] bool has_ended() const { return outcome_->has_ended; }
  /// Waits for it, 20 s at most.
  boost::asio::awaitable<void> end() {
    boost::asio::steady_timer turn(co_await boost::asio::this_coro::executor);
    for (int left = 20'000; !outcome_->has_ended && left > 0; --left) {
      turn.expires_after(std::chrono::milliseconds(1));
      co_await turn.async_wait(boost::asio::use_awaitable);
    }
    BOOST_TEST_REQUIRE(outcome_->has_ended);
    if (outcome_->thrown) std::rethrow_exception(outcome_->thrown);
  }

 private:
  struct outcome {
    bool has_ended = false;
    std::exception_ptr thrown;
  };

  std::shared_ptr<outcome> outcome_;  ///< the coroutine has the other share
};

}  // namespace kvc::test
