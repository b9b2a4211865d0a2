#include "core/hash_compare.hpp"

#include <cstdint>
#include <random>
#include <vector>

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(hash_compare)

BOOST_AUTO_TEST_CASE(every_width_finds_the_first_difference) {
  // The fast comparisons work in vectors: a difference may stand anywhere in one, in the left-over part, or nowhere.
  std::vector<std::uint64_t> left(70);
  std::mt19937_64 random(1);
  for (auto& each : left) each = random();
  for (std::size_t count = 0; count <= left.size(); ++count) {
    BOOST_TEST(kvc::core::common_prefix(left.data(), left.data(), count) == count);
    for (std::size_t at = 0; at < count; ++at) {
      std::vector<std::uint64_t> right = left;
      right[at] ^= std::uint64_t{1} << (at % 64);
      BOOST_TEST(kvc::core::common_prefix(left.data(), right.data(), count) == at);
      BOOST_TEST(kvc::core::common_prefix_scalar(left.data(), right.data(), count) == at);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
