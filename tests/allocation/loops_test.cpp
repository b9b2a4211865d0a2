// Every allocation fails in turn of the loops that a lane has for as long as it lives: none of them ends.
#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <utility>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/test/unit_test.hpp>

#include "net/eviction_task.hpp"
#include "net/log.hpp"
#include "net/recipe_task.hpp"
#include "tests/allocation/watched_heap.hpp"

BOOST_AUTO_TEST_SUITE(loops_without_memory)

namespace {

using namespace kvc;
using namespace std::chrono_literals;
using kvc::test::watched_heap;

/// A lane that the test runs itself, and a fleet of two engines.
struct scene {
  core::catalog catalog;
  net::runtime lanes{1, catalog};
  core::published<net::fleet_view> fleet;
  std::shared_ptr<net::budget_watch> watch =
      std::make_shared<net::budget_watch>(std::make_shared<core::index_budget>(catalog, 1'000'000, 1));
  net::asio::cancellation_signal stop;
  bool has_ended = false;

  scene() {
    auto all = std::make_shared<net::fleet_view>();
    for (const char* name : {"a", "b"}) {
      auto info = std::make_shared<net::service_info>();
      info->registration.worker.instance = name;
      info->recipe = std::make_shared<core::recipe_notes>();
      all->push_back(std::move(info));
    }
    fleet.publish(std::move(all));
  }
  net::asio::awaitable<void> compare_recipes() { return net::watch_recipes(lanes.at(0), fleet, 1ms); }
  net::asio::awaitable<void> evict() {
    return net::keep_within_budget(lanes.at(0), watch, {.idle_pause = 1ms});
  }
  /// As a lane does it, whatever is thrown.
  void run_for(int handlers) {
    for (int i = 0; i < handlers; ++i) {
      try {
        (void)lanes.at(0).context.run_one_for(2ms);
      } catch (const std::exception&) {
      }
    }
  }
};

using loop = net::asio::awaitable<void> (scene::*)();

enum class outcome : std::uint8_t { nothing_failed, goes_on, is_destroyed };

/// Asio destroys a coroutine when it has no memory to begin its wait; anything else is for the loop to outlast.
net::asio::awaitable<void> watch(scene& in, loop which, bool& is_destroyed) {
  struct guard {
    explicit guard(bool& into) : is_destroyed(into) {}
    ~guard() { is_destroyed = true; }
    guard(const guard&) = delete;
    guard& operator=(const guard&) = delete;
    bool& is_destroyed;
  };
  const guard until_the_end(is_destroyed);
  co_await (in.*which)();
  in.has_ended = true;
}

outcome play(loop which, long before) {
  scene here;
  bool is_destroyed = false;
  net::asio::co_spawn(here.lanes.at(0).context, watch(here, which, is_destroyed),
                      net::asio::bind_cancellation_slot(here.stop.slot(), [](const std::exception_ptr&) {}));
  here.run_for(3);
  watched_heap::before_failure = before;
  here.run_for(8);
  const bool has_failed = watched_heap::before_failure < 0;
  watched_heap::before_failure = -1;
  here.run_for(2);
  BOOST_TEST(!here.has_ended);
  if (is_destroyed) return outcome::is_destroyed;
  here.stop.emit(net::asio::cancellation_type::terminal);
  here.run_for(20);
  BOOST_TEST(here.has_ended);
  return has_failed ? outcome::goes_on : outcome::nothing_failed;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_loop_that_runs_out_of_memory_goes_on_when_there_is_some) {
  // Without the one the index grows beyond its budget from then on, without the other nobody says who can never match.
  net::log::set_level(net::log::module::stream, net::log::level::off);
  for (const loop which : {&scene::compare_recipes, &scene::evict}) {
    long outlasted = 0;
    outcome last = outcome::goes_on;
    for (long before = 0; last != outcome::nothing_failed; ++before) {
      BOOST_TEST_CONTEXT("allocation " << before) { last = play(which, before); }
      outlasted += last == outcome::goes_on ? 1 : 0;
    }
    BOOST_TEST(outlasted > 0);
  }
  net::log::set_level(net::log::module::stream, net::log::level::info);
}

BOOST_AUTO_TEST_SUITE_END()
