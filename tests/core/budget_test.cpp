// Fair shares of a byte budget, by hand-made examples.
#include "core/budget.hpp"

#include <cstdint>
#include <limits>
#include <vector>

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(budget)

namespace {

using kvc::core::fair_shares;
using kvc::core::percent_of;
using numbers = std::vector<std::uint64_t>;

struct example {
  const char* what;
  numbers wanted;
  std::uint64_t total;
  numbers shares;
};

}  // namespace

BOOST_AUTO_TEST_CASE(shares_are_max_min_fair) {
  const std::vector<example> examples{
      {"nobody", {}, 100, {}},
      {"one who has room", {40}, 100, {40}},
      {"one who has not", {140}, 100, {100}},
      {"equal wants", {80, 80}, 100, {50, 50}},
      {"the small one keeps all, the big one the rest", {10, 500}, 100, {10, 90}},
      {"in any order", {500, 10, 30, 500}, 100, {30, 10, 30, 30}},
      {"what a middle one leaves goes to both others", {90, 35, 90}, 120, {42, 35, 43}},
      {"who wants nothing", {0, 200}, 100, {0, 100}},
      {"nothing to share", {5, 7}, 0, {0, 0}},
      {"more than a sum can hold", {~0ULL, ~0ULL}, ~0ULL, {~0ULL / 2, ~0ULL / 2 + 1}},
  };
  for (const example& each : examples) {
    BOOST_TEST_CONTEXT(each.what) {
      BOOST_TEST(fair_shares(each.wanted, each.total) == each.shares, boost::test_tools::per_element());
    }
  }
}

BOOST_AUTO_TEST_CASE(a_percentage_does_not_overflow) {
  BOOST_TEST(percent_of(200, 95) == 190U);
  BOOST_TEST(percent_of(10, 95) == 9U);
  BOOST_TEST(percent_of(std::numeric_limits<std::uint64_t>::max(), 95) < std::numeric_limits<std::uint64_t>::max());
}

BOOST_AUTO_TEST_SUITE_END()
