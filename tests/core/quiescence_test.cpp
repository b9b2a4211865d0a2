// What a writer takes out of reach is freed when nobody can see it any more, and never so much at once that its lane stands still.
#include "core/quiescence.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(quiescence)

namespace {

using kvc::core::collect_retired;
using kvc::core::quiescent_scope;
using kvc::core::retire;

constexpr std::size_t backlog = 20'000;
constexpr std::size_t most_at_once = 512;

std::size_t& freed() {
  static std::size_t count = 0;
  return count;
}

/// Retires something that is counted when it is freed.
void retire_one() {
  static int thing = 0;
  retire(&thing, [](void*) { ++freed(); });
}

}  // namespace

BOOST_AUTO_TEST_CASE(what_a_long_scope_has_held_back_is_freed_in_portions) {
  // The end of a chain, or of a worker, takes any number of objects out of reach within one scope.
  (void)collect_retired();
  freed() = 0;
  {
    const quiescent_scope looking;
    for (std::size_t i = 0; i < backlog; ++i) retire_one();
    BOOST_TEST(freed() == 0U);
  }
  std::size_t most = 0;
  std::size_t calls = 0;
  for (; freed() < backlog && calls < backlog; ++calls) {
    const std::size_t before = freed();
    retire_one();
    most = std::max(most, freed() - before);
  }
  BOOST_TEST(most <= most_at_once);
  BOOST_TEST(calls < backlog / 10);  // it does not stay for long either
}

BOOST_AUTO_TEST_CASE(all_of_it_can_be_had_at_once_where_that_is_asked_for) {
  (void)collect_retired();
  freed() = 0;
  std::optional<quiescent_scope> looking(std::in_place);
  for (std::size_t i = 0; i < backlog; ++i) retire_one();
  BOOST_TEST(collect_retired() >= backlog);
  BOOST_TEST(freed() == 0U);
  looking.reset();
  BOOST_TEST(collect_retired() == 0U);
  BOOST_TEST(freed() == backlog);
}

BOOST_AUTO_TEST_SUITE_END()
