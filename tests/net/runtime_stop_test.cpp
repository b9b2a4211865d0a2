// A stop of the lanes while there is work beside them.
#include <atomic>
#include <chrono>
#include <future>
#include <optional>
#include <thread>

#include <boost/asio/post.hpp>
#include <boost/system/system_error.hpp>
#include <boost/test/unit_test.hpp>

#include "core/catalog.hpp"
#include "net/aside.hpp"
#include "net/errc.hpp"
#include "net/runtime.hpp"

BOOST_AUTO_TEST_SUITE(runtime_stop)

namespace {

using namespace kvc;
namespace asio = boost::asio;

constexpr std::chrono::seconds patience{20};

struct stop_fixture {
  core::catalog catalog;
  net::runtime lanes{1, catalog};
  net::aside_thread beside{lanes};
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(what_is_queued_beside_the_lanes_is_refused_and_what_has_begun_is_awaited, stop_fixture) {
  // With bodies of 64 MiB behind each other a stop would take as long as reading them all, and leave their requests behind half done.
  std::promise<void> begun;
  std::promise<void> is_queued;
  bool was_closed = false;
  std::atomic<bool> second_has_run = false;
  std::optional<bool> first;
  std::optional<net::error_code> second;
  const auto ask_first = [&]() -> asio::awaitable<void> {
    const bool answer = co_await beside.run([&] {
      begun.set_value();
      const auto deadline = std::chrono::steady_clock::now() + patience;
      while (!beside.is_closed() && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
      was_closed = beside.is_closed();
      return true;
    });
    first = answer;
  };
  const auto ask_second = [&]() -> asio::awaitable<void> {
    try {
      static_cast<void>(co_await beside.run([&] { return second_has_run = true, 1; }));
    } catch (const boost::system::system_error& refused) {
      second = refused.code();
    }
  };
  lanes.start(false);
  asio::post(lanes.at(0).context, [&] {
    lanes.at(0).tasks.spawn("first", ask_first());
    lanes.at(0).tasks.spawn("second", ask_second());
    // Behind the first step of both.
    asio::post(lanes.at(0).context, [&] { is_queued.set_value(); });
  });
  BOOST_REQUIRE((begun.get_future().wait_for(patience) == std::future_status::ready));
  BOOST_REQUIRE((is_queued.get_future().wait_for(patience) == std::future_status::ready));

  BOOST_TEST(!lanes.stop(std::chrono::milliseconds(0)), "not in time");
  BOOST_TEST(was_closed);
  BOOST_TEST((first == true));
  BOOST_TEST(!second_has_run.load());
  BOOST_TEST((second == make_error_code(net::errc::cancelled)));
  BOOST_TEST(lanes.at(0).tasks.running() == 0U);
}

BOOST_FIXTURE_TEST_CASE(what_ends_within_the_patience_is_not_refused, stop_fixture) {
  std::promise<void> begun;
  std::optional<int> last;
  const auto ask = [&]() -> asio::awaitable<void> {
    const int first = co_await beside.run([&] { return begun.set_value(), 1; });
    last = first + co_await beside.run([] { return 1; });
  };
  lanes.start(false);
  asio::post(lanes.at(0).context, [&] { lanes.at(0).tasks.spawn("asks twice", ask()); });
  BOOST_REQUIRE((begun.get_future().wait_for(patience) == std::future_status::ready));
  BOOST_TEST(lanes.stop(patience));
  BOOST_TEST((last == 2));
}

BOOST_AUTO_TEST_SUITE_END()
