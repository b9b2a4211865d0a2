#include "net/aside.hpp"

#include <chrono>
#include <exception>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/system/system_error.hpp>
#include <boost/test/unit_test.hpp>

#include "net/errc.hpp"

BOOST_AUTO_TEST_SUITE(aside)

namespace {

using namespace kvc;
namespace asio = boost::asio;

constexpr std::chrono::seconds patience{20};

}  // namespace

BOOST_AUTO_TEST_CASE(the_lane_goes_on_while_the_work_is_done) {
  // The work waits for a turn of the lane, which could never come if the lane were busy with the work.
  asio::io_context lane{1};
  net::aside_thread beside;
  std::promise<void> turn;
  std::thread::id worked_on;
  std::thread::id came_back_on;
  bool has_seen_turn = false;
  const auto work = [&] {
    worked_on = std::this_thread::get_id();
    return turn.get_future().wait_for(patience) == std::future_status::ready;
  };
  const auto ask = [&]() -> asio::awaitable<void> {
    has_seen_turn = co_await beside.run(work);
    came_back_on = std::this_thread::get_id();
  };
  asio::co_spawn(lane, ask(), [](const std::exception_ptr& failed) { BOOST_TEST(!failed); });
  asio::post(lane, [&] { turn.set_value(); });
  lane.run();
  BOOST_TEST(has_seen_turn);
  BOOST_TEST((worked_on != std::this_thread::get_id()));
  BOOST_TEST((came_back_on == std::this_thread::get_id()));
  BOOST_TEST(beside.pieces() == 1U);
}

BOOST_AUTO_TEST_CASE(what_the_work_throws_reaches_who_asked) {
  asio::io_context lane{1};
  net::aside_thread beside;
  std::string caught;
  const auto work = []() -> int { throw std::runtime_error("no memory"); };
  const auto ask = [&]() -> asio::awaitable<void> {
    try {
      static_cast<void>(co_await beside.run(work));
    } catch (const std::runtime_error& failure) {
      caught = failure.what();
    }
  };
  asio::co_spawn(lane, ask(), [](const std::exception_ptr& failed) { BOOST_TEST(!failed); });
  lane.run();
  BOOST_TEST(caught == "no memory");
}

BOOST_AUTO_TEST_CASE(an_answer_does_not_wait_for_what_is_queued_behind_it) {
  // The last piece waits until the first one's answer has been taken: had it to wait for all that is queued, it never would be in time.
  asio::io_context lane{1};
  net::aside_thread beside;
  std::promise<void> first_is_taken;
  bool was_taken_before = false;
  const auto ask_first = [&]() -> asio::awaitable<void> {
    static_cast<void>(co_await beside.run([] { return 1; }));
    first_is_taken.set_value();
  };
  const auto ask_last = [&]() -> asio::awaitable<void> {
    was_taken_before = co_await beside.run([&] { return first_is_taken.get_future().wait_for(patience) == std::future_status::ready; });
  };
  asio::co_spawn(lane, ask_first(), [](const std::exception_ptr& failed) { BOOST_TEST(!failed); });
  asio::co_spawn(lane, ask_last(), [](const std::exception_ptr& failed) { BOOST_TEST(!failed); });
  lane.run();
  BOOST_TEST(was_taken_before);
}

BOOST_AUTO_TEST_CASE(no_cancellation_reaches_who_waits) {
  // The work may refer to what the caller keeps, which has to be there until the work has ended.
  asio::io_context lane{1};
  net::aside_thread beside;
  asio::cancellation_signal cancel;
  std::promise<void> cancelled;
  int answer = 0;
  const auto ask = [&]() -> asio::awaitable<void> {
    answer = co_await beside.run([&] { return cancelled.get_future().wait_for(patience) == std::future_status::ready ? 7 : 0; });
  };
  asio::co_spawn(lane, ask(), asio::bind_cancellation_slot(cancel.slot(), [](const std::exception_ptr& failed) { BOOST_TEST(!failed); }));
  asio::post(lane, [&] {
    cancel.emit(asio::cancellation_type::terminal);
    cancelled.set_value();
  });
  lane.run();
  BOOST_TEST(answer == 7);
}

BOOST_AUTO_TEST_CASE(what_is_dropped_goes_there) {
  struct thing {
    std::promise<std::thread::id>& gone;
    explicit thing(std::promise<std::thread::id>& tell) : gone(tell) {}
    thing(const thing&) = delete;
    thing& operator=(const thing&) = delete;
    ~thing() { gone.set_value(std::this_thread::get_id()); }
  };
  net::aside_thread beside;
  std::promise<std::thread::id> gone;
  auto where = gone.get_future();
  beside.drop(std::make_unique<thing>(gone));
  BOOST_REQUIRE((where.wait_for(patience) == std::future_status::ready));
  BOOST_TEST((where.get() != std::this_thread::get_id()));
}

BOOST_AUTO_TEST_CASE(what_has_not_begun_when_it_is_closed_is_refused) {
  // As at a stop, which would take as long as everything that is queued. What is dropped is gone in any case.
  asio::io_context lane{1};
  const auto kept = std::make_shared<int>(1);
  std::promise<void> begun;
  std::promise<void> closed;
  int first = 0;
  int done = 0;
  std::vector<net::error_code> refused;
  {
    net::aside_thread beside;
    const auto ask_first = [&]() -> asio::awaitable<void> {
      first = co_await beside.run([&] {
        begun.set_value();
        return closed.get_future().wait_for(patience) == std::future_status::ready ? 7 : 0;
      });
    };
    const auto ask = [&]() -> asio::awaitable<void> {
      try {
        static_cast<void>(co_await beside.run([&] { return ++done; }));
      } catch (const boost::system::system_error& failure) {
        refused.push_back(failure.code());
      }
    };
    const auto tell = [](const std::exception_ptr& failed) { BOOST_TEST(!failed); };
    asio::co_spawn(lane, ask_first(), tell);
    asio::co_spawn(lane, ask(), tell);
    lane.poll();
    BOOST_REQUIRE((begun.get_future().wait_for(patience) == std::future_status::ready));
    beside.drop(std::make_unique<std::shared_ptr<int>>(kept));
    BOOST_TEST(beside.is_busy());

    beside.close();
    asio::co_spawn(lane, ask(), tell);
    closed.set_value();
    lane.restart();
    lane.run();
  }
  BOOST_TEST(first == 7);
  BOOST_TEST(done == 0);
  BOOST_TEST(refused.size() == 2U);
  for (const net::error_code& each : refused) BOOST_TEST((each == net::errc::cancelled));
  BOOST_TEST(kept.use_count() == 1);
}

BOOST_AUTO_TEST_CASE(a_lane_that_has_stopped_is_not_told) {
  // As at the end of the process: whoever waited is gone by the time the work ends, which is before the thread ends.
  asio::io_context lane{1};
  std::promise<void> begun;
  std::promise<void> stopped;
  bool is_done = false;
  bool is_told = false;
  {
    net::aside_thread beside;
    const auto work = [&] {
      begun.set_value();
      is_done = stopped.get_future().wait_for(patience) == std::future_status::ready;
      return 1;
    };
    const auto ask = [&]() -> asio::awaitable<void> {
      static_cast<void>(co_await beside.run(work));
      is_told = true;
    };
    asio::co_spawn(lane, ask(), [](const std::exception_ptr&) {});
    lane.poll();  // the work is on its way
    BOOST_REQUIRE((begun.get_future().wait_for(patience) == std::future_status::ready));
    lane.stop();
    stopped.set_value();
  }
  BOOST_TEST(is_done);
  BOOST_TEST(!is_told);
}

BOOST_AUTO_TEST_SUITE_END()
