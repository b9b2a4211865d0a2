#include "net/event_hash.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "core/mixed_bits.hpp"

BOOST_AUTO_TEST_SUITE(event_hashes)

namespace {

using namespace kvc;

bool repeats(const std::vector<std::uint64_t>& numbers) {
  std::vector<core::engine_hash> names;
  for (const std::uint64_t each : numbers) names.emplace_back(each);
  std::vector<core::engine_hash> scratch;
  return net::has_repeats(names, scratch);
}

}  // namespace

BOOST_AUTO_TEST_CASE(repeats_are_found_in_lists_of_every_length) {
  // Against sorting; zero is a name like any other.
  const std::uint64_t seed = std::random_device()();
  BOOST_TEST_MESSAGE("seed " << seed);
  std::mt19937_64 random(seed);
  std::vector<std::size_t> lengths(300);
  std::iota(lengths.begin(), lengths.end(), std::size_t{0});
  for (const std::size_t more : {511, 512, 513, 1'023, 1'024, 1'025, 3'000}) lengths.insert(lengths.end(), 5, more);
  for (const std::size_t length : lengths) {
    std::vector<std::uint64_t> names;
    for (std::size_t i = 0; i < length; ++i) names.push_back(random() % (length * length + 1));
    std::vector<std::uint64_t> sorted = names;
    std::ranges::sort(sorted);
    BOOST_TEST(repeats(names) == (std::ranges::adjacent_find(sorted) != sorted.end()));
  }
  BOOST_TEST(!repeats({0}));
  std::vector<std::uint64_t> zeros(40);
  for (std::size_t i = 0; i < zeros.size(); ++i) zeros[i] = i;
  BOOST_TEST(!repeats(zeros));
  zeros.push_back(0);
  BOOST_TEST(repeats(zeros));
}

BOOST_AUTO_TEST_CASE(names_made_to_collide_are_judged_all_the_same) {
  // Multiples of the golden ratio's inverse fall into one place of the table.
  std::uint64_t inverse = core::golden;  // Newton's steps; each doubles the bits that are right
  for (int i = 0; i < 6; ++i) inverse *= 2 - core::golden * inverse;
  BOOST_TEST_REQUIRE(inverse * core::golden == 1U);
  for (const std::uint64_t count : {100U, 1'000U, 20'000U}) {
    std::vector<std::uint64_t> names;
    for (std::uint64_t i = 1; i <= count; ++i) names.push_back(i * inverse);
    BOOST_TEST(!repeats(names));
    names.push_back(names[7]);
    BOOST_TEST(repeats(names));
  }
}

BOOST_AUTO_TEST_SUITE_END()
