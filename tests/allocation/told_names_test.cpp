// Every allocation of telling what a name means fails in turn: when it is told again, everybody hears.
#include <cstddef>
#include <memory>
#include <new>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "core/name_board.hpp"
#include "tests/allocation/watched_heap.hpp"

BOOST_AUTO_TEST_SUITE(told_names)

namespace {

using namespace kvc::core;
using kvc::test::watched_heap;

/// Whether there was memory.
bool tell(name_board& board, engine_hash name, const name_meaning& means, long allocations) {
  watched_heap::before_failure = allocations;
  bool was_told = true;
  try {
    board.tell(name, means);
  } catch (const std::bad_alloc&) {
    was_told = false;
  }
  watched_heap::before_failure = -1;
  return was_told;
}

}  // namespace

BOOST_AUTO_TEST_CASE(who_missed_a_meaning_for_want_of_memory_hears_when_it_is_told_again) {
  constexpr std::size_t pools = 6;  // more than are told without memory for a list of them
  const engine_hash name{42};
  const name_meaning means{.what = name_meaning::state::known, .block = seq_hash{7}};
  bool has_failed = true;
  long failures = 0;
  for (long number = 0; has_failed; ++number) {
    name_board board;
    std::vector<std::shared_ptr<name_listener>> inboxes;
    for (std::size_t i = 0; i < pools; ++i) {
      inboxes.push_back(std::make_shared<name_listener>(nullptr));
      BOOST_TEST((board.watch(name, inboxes.back()).what == name_meaning::state::unknown));
    }
    has_failed = !tell(board, name, means, number);
    failures += has_failed ? 1 : 0;
    BOOST_TEST_CONTEXT("allocation " << number) {
      if (has_failed) BOOST_TEST((board.meaning_of(name).what == name_meaning::state::unknown));
      BOOST_REQUIRE(tell(board, name, means, -1));
      BOOST_TEST(board.meaning_of(name).is_same(means));
      for (const auto& each : inboxes) {
        std::vector<name_listener::news> heard;
        each->take(heard);
        BOOST_REQUIRE(!heard.empty());
        for (const name_listener::news& what : heard) BOOST_TEST(what.means.is_same(means));
      }
    }
  }
  BOOST_TEST(failures > 1);
}

BOOST_AUTO_TEST_SUITE_END()
