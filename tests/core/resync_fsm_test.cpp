#include "core/resync_fsm.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace kvc::test {
BOOST_AUTO_TEST_SUITE(resync)

namespace {

using namespace kvc::core;
using namespace std::chrono_literals;
using action = resync_fsm::action;
using phase = resync_fsm::phase;
using ids = std::vector<std::string>;

const resync_fsm::time_point t0{};
constexpr resync_fsm::limits usual{};

std::string asked(const resync_fsm& machine) {
  return machine.server() + ":" + machine.token().value_or("(first)");
}

}  // namespace

BOOST_AUTO_TEST_CASE(pages_follow_each_other_until_none_is_named) {
  // The ordinary start: one server, three pages; an empty token is a token like others.
  resync_fsm machine(t0, 1, usual);
  BOOST_TEST(machine.holds_eviction());
  BOOST_TEST((machine.start(t0, ids{"s"}) == action::request));
  BOOST_TEST(asked(machine) == "s:(first)");
  BOOST_TEST((machine.on_page(t0, "p2", ids{"s"}) == action::request));
  BOOST_TEST(asked(machine) == "s:p2");
  BOOST_TEST((machine.on_page(t0, "", ids{"s"}) == action::request));
  BOOST_TEST(asked(machine) == "s:");
  BOOST_TEST(machine.holds_eviction());

  BOOST_TEST((machine.on_page(t0, std::nullopt, ids{"s"}) == action::finish));

  BOOST_TEST((machine.state() == phase::complete));
  BOOST_TEST(!machine.holds_eviction());
  BOOST_TEST(machine.pages() == 3U);
  BOOST_TEST((machine.on_page(t0, "late", ids{"s"}) == action::finish));
  BOOST_TEST((machine.on_tick(t0, ids{"s"}) == action::finish));
}

BOOST_AUTO_TEST_CASE(the_first_server_is_waited_for_but_not_for_ever) {
  // Eviction must not be held by a fleet that never comes.
  resync_fsm machine(t0, 1, usual);
  BOOST_TEST((machine.start(t0, {}) == action::wait));
  BOOST_TEST((machine.on_tick(t0 + 59s, {}) == action::wait));

  resync_fsm other = machine;
  BOOST_TEST((other.on_tick(t0 + 59s, ids{"s"}) == action::request));
  BOOST_TEST((machine.on_tick(t0 + 60s, {}) == action::finish));
  BOOST_TEST((machine.state() == phase::gave_up));
  BOOST_TEST(!machine.holds_eviction());
}

BOOST_AUTO_TEST_CASE(a_failed_page_goes_to_another_server_from_the_first_page_on) {
  // Tokens mean something to the server that made them only.
  resync_fsm machine(t0, 1, usual);
  (void)machine.start(t0, ids{"a"});
  (void)machine.on_page(t0, "a2", ids{"a"});

  BOOST_TEST((machine.on_failure(t0, ids{"a", "b"}) == action::request));

  BOOST_TEST(asked(machine) == "b:(first)");
  BOOST_TEST(machine.servers_failed() == 1U);
  BOOST_TEST((machine.on_failure(t0 + 5s, ids{"a", "b"}) == action::wait));
  BOOST_TEST((machine.on_tick(t0 + 6s, ids{"a", "b", "c"}) == action::request));
  BOOST_TEST(asked(machine) == "c:(first)");
  BOOST_TEST((machine.on_failure(t0 + 61s, ids{"a", "b", "c"}) == action::finish));
  BOOST_TEST((machine.state() == phase::gave_up));
}

BOOST_AUTO_TEST_CASE(pages_that_go_round_are_left) {
  // A server that names a page again would be listed for ever; the circle may be of any length and begin late.
  for (const std::size_t circle : {1U, 2U, 3U, 7U, 100U}) {
    for (const std::size_t before : {0U, 1U, 5U, 50U}) {
      BOOST_TEST_CONTEXT("circle " << circle << " after " << before) {
        resync_fsm machine(t0, 1, usual);
        (void)machine.start(t0, ids{"a"});
        std::size_t page = 0;
        action next = action::request;
        while (next == action::request && page < 2'000) {
          const std::size_t name = page < before ? page : before + (page - before) % circle;
          ++page;
          next = machine.on_page(t0, "p" + std::to_string(name), ids{"a"});
        }

        BOOST_TEST((next == action::wait));
        BOOST_TEST(page <= 4 * (before + circle) + 4);
        BOOST_TEST(machine.servers_failed() == 1U);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(long_listings_end_in_pages_and_in_time) {
  // Tokens may be new each time: then only the bounds end it.
  resync_fsm few(t0, 1, {.max_pages = 3});
  (void)few.start(t0, ids{"a"});
  (void)few.on_page(t0, "1", ids{"a"});
  (void)few.on_page(t0, "2", ids{"a"});
  BOOST_TEST((few.on_page(t0, "3", ids{"a"}) == action::finish));
  BOOST_TEST((few.state() == phase::gave_up));

  resync_fsm slow(t0, 1, usual);
  (void)slow.start(t0, ids{"a"});
  BOOST_TEST((slow.on_page(t0 + 59min, "1", ids{"a"}) == action::request));
  BOOST_TEST((slow.on_page(t0 + 60min, "2", ids{"a"}) == action::finish));
  BOOST_TEST((slow.state() == phase::gave_up));
}

BOOST_AUTO_TEST_CASE(the_server_is_picked_by_chance) {
  // Coordinators that restart together must not all list the same server.
  std::map<std::string, int> picked;
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    resync_fsm machine(t0, seed, usual);
    (void)machine.start(t0, ids{"a", "b", "c"});
    ++picked[machine.server()];
  }
  for (const auto& [name, count] : picked) BOOST_TEST(count > 120, name << " " << count);
  BOOST_TEST(picked.size() == 3U);
}

BOOST_AUTO_TEST_CASE(random_fleets_are_listed_once_or_given_up) {
  // Whatever fails and whoever comes and goes: no server is asked again after it failed, pages come in order, and it ends.
  constexpr std::uint64_t first = 99;
  BOOST_TEST_MESSAGE("seeds from " << first);
  for (std::uint64_t seed = first; seed < first + 500; ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      std::mt19937_64 random(seed);
      resync_fsm machine(t0, seed, usual);
      std::set<std::string> failed;
      ids fleet;
      std::size_t pages_of_this = 0;
      bool has_ended = false;
      auto now = t0;
      action next = machine.start(now, fleet);
      int steps = 0;
      while (next != action::finish && ++steps < 2'000) {
        now += std::chrono::milliseconds(random() % 2'000);
        if (random() % 4 == 0) fleet.push_back("s" + std::to_string(random() % 20));
        if (random() % 6 == 0 && !fleet.empty()) fleet.pop_back();
        if (next == action::wait) {
          next = machine.on_tick(now, fleet);
          pages_of_this = 0;
          continue;
        }
        BOOST_REQUIRE(!failed.contains(machine.server()));
        BOOST_REQUIRE(asked(machine) == machine.server() + ":" + (pages_of_this == 0 ? "(first)" : std::to_string(pages_of_this)));
        const std::uint64_t what = random() % 10;
        if (what < 3) {
          failed.insert(machine.server());
          next = machine.on_failure(now, fleet);
          pages_of_this = 0;
        } else if (what < 9) {
          next = machine.on_page(now, std::to_string(++pages_of_this), fleet);
        } else {
          next = machine.on_page(now, std::nullopt, fleet);
          has_ended = true;
        }
      }
      BOOST_REQUIRE(next == action::finish);
      BOOST_REQUIRE(machine.state() == (has_ended ? phase::complete : phase::gave_up));
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kvc::test
