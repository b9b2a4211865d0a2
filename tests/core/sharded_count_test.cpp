#include "core/sharded_count.hpp"

#include <thread>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace kvc::test {

BOOST_AUTO_TEST_SUITE(sharded_count)

BOOST_AUTO_TEST_CASE(what_many_threads_add_and_take_away_sums_up) {
  // More threads than there are words of their own, all at once, some of which take away what others have added.
  core::sharded_count count;
  constexpr std::size_t threads = 24;
  constexpr std::size_t rounds = 20'000;
  {
    std::vector<std::jthread> all;
    for (std::size_t i = 0; i < threads; ++i) {
      all.emplace_back([&count, i] {
        for (std::size_t round = 0; round < rounds; ++round) {
          count.add(3);
          if (i % 2 == 0) count.subtract(5);
        }
      });
    }
  }

  BOOST_TEST(count.sum() == threads * rounds * 3 - threads / 2 * rounds * 5);
}

BOOST_AUTO_TEST_CASE(a_sum_is_never_below_zero) {
  // A reader may see what is taken away in one shard before it sees what was added in another.
  core::sharded_count count;
  count.subtract(5);
  BOOST_TEST(count.sum() == 0U);
  count.add(7);
  BOOST_TEST(count.sum() == 2U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kvc::test
