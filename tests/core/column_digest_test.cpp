#include "core/column_digest.hpp"

#include <cstdint>
#include <random>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "core/spread.hpp"

BOOST_AUTO_TEST_SUITE(column_digest)

using namespace kvc::core;

namespace {

std::vector<std::uint64_t> drawn(std::size_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::uint64_t> all(count);
  for (std::uint64_t& each : all) each = random();
  return all;
}

}  // namespace

BOOST_AUTO_TEST_CASE(wide_products_and_plain_code_say_the_same) {
  BOOST_TEST_CONTEXT("digests " << (digests_pay() ? "pay" : "do not pay") << " on this CPU") {
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
      // One element more, so that the stretch is not aligned.
      const std::vector<std::uint64_t> all = drawn(blocks_per_digest + 1, seed);
      BOOST_TEST(kvc::core::column_digest(all.data()) == column_digest_scalar(all.data()));
      BOOST_TEST(kvc::core::column_digest(all.data() + 1) == column_digest_scalar(all.data() + 1));
    }
    for (const std::uint64_t same : {std::uint64_t{0}, ~std::uint64_t{0}, std::uint64_t{1} << 63}) {
      const std::vector<std::uint64_t> all(blocks_per_digest, same);
      BOOST_TEST(kvc::core::column_digest(all.data()) == column_digest_scalar(all.data()));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_bit_anywhere_and_any_two_in_each_others_place_make_another_digest) {
  std::vector<std::uint64_t> all = drawn(blocks_per_digest, 7);
  const std::uint64_t before = kvc::core::column_digest(all.data());
  for (std::size_t at = 0; at < all.size(); ++at) {
    for (const unsigned bit : {0U, 31U, 63U}) {
      all[at] ^= std::uint64_t{1} << bit;
      BOOST_TEST(kvc::core::column_digest(all.data()) != before);
      all[at] ^= std::uint64_t{1} << bit;
    }
    std::swap(all[at], all[(at + 1) % all.size()]);
    BOOST_TEST(kvc::core::column_digest(all.data()) != before);
    std::swap(all[at], all[(at + 1) % all.size()]);
  }
}

BOOST_AUTO_TEST_CASE(the_first_digest_that_differs_ends_the_count) {
  constexpr std::size_t most = 11;
  const std::vector<std::uint64_t> hashes = drawn(most * blocks_per_digest, 11);
  std::vector<std::uint64_t> digests;
  for (std::size_t i = 0; i < most; ++i) digests.push_back(kvc::core::column_digest(hashes.data() + i * blocks_per_digest));
  for (std::size_t count = 0; count <= most; ++count) {
    const std::span first(digests.data(), count);
    BOOST_TEST(common_digests(first, hashes) == count);
    BOOST_TEST(common_digests(first, std::span(hashes).first(count * blocks_per_digest)) == count);
    for (std::size_t at = 0; at < count; ++at) {
      std::vector<std::uint64_t> other = hashes;
      other[at * blocks_per_digest + at * 13 % blocks_per_digest] ^= 1;
      BOOST_TEST(common_digests(first, other) == at);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
