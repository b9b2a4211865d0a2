#include "core/block_hasher.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "tests/support/hash_vectors.hpp"

BOOST_AUTO_TEST_SUITE(block_hasher)

namespace {

using namespace kvc::core;
using kvc::test::counting;

template <class Named>
std::vector<std::uint64_t> bare(const std::vector<Named>& hashes) {
  std::vector<std::uint64_t> values;
  for (const Named each : hashes) values.push_back(each.get());
  return values;
}

BOOST_AUTO_TEST_CASE(blocks_of_one_prompt_hash_as_each_by_itself) {
  // Usual sizes have a way of their own.
  const std::vector<std::uint32_t> tokens = counting(0xfff0'1234, 1'000);
  for (const std::uint32_t block_size : {1U, 2U, 15U, 16U, 17U, 31U, 32U, 33U, 64U, 128U, 999U, 1'000U, 1'001U}) {
    for (const std::uint64_t seed : {std::uint64_t{0}, default_hash_seed, std::uint64_t{0xfedc'ba98'7654'3210}}) {
      std::vector<local_hash> together{local_hash{7}};
      hash_blocks(tokens, block_size, seed, together);
      BOOST_TEST_REQUIRE(together.size() == 1 + tokens.size() / block_size);
      BOOST_TEST(together.front().get() == 7U);
      for (std::size_t i = 1; i < together.size(); ++i) {
        const local_hash alone = hash_block(std::span(tokens).subspan((i - 1) * block_size, block_size), seed);
        BOOST_TEST(together[i].get() == alone.get(), "block " << i << " of " << block_size << " tokens");
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(published_vectors_are_met) {
  // Engines and routers elsewhere compute the same numbers; one bit off and nothing ever matches.
  for (const auto& vector : kvc::test::hash_vectors()) {
    std::vector<local_hash> locals;
    std::vector<seq_hash> sequence;
    hash_blocks(vector.tokens, vector.block_size, vector.seed, locals);
    roll_from_root(locals, vector.seed, sequence);

    BOOST_TEST_CONTEXT(vector.why) {
      BOOST_TEST(bare(locals) == vector.locals, boost::test_tools::per_element());
      BOOST_TEST(bare(sequence) == vector.sequence, boost::test_tools::per_element());
    }
  }
}

BOOST_AUTO_TEST_CASE(rolling_is_the_hash_of_two_little_endian_words) {
  // The published check of the concatenation on its own.
  BOOST_TEST(roll(seq_hash{1}, local_hash{2}, 1337).get() == 16'740'963'408'272'063'728U);
}

BOOST_AUTO_TEST_CASE(no_tokens_hash_like_no_bytes) {
  // The published value of the empty input, for both ways to have nothing.
  BOOST_TEST(hash_block({}, 1337).get() == 15'128'690'059'815'094'969U);
  BOOST_TEST(hash_block({}, 0).get() == 3'244'421'341'483'603'138U);
}

BOOST_AUTO_TEST_CASE(extra_keys_follow_the_tokens_as_bytes) {
  // A block with keys hashes its tokens and then the encoded keys: four bytes of keys are as good as one more token.
  const std::vector<std::uint32_t> two{1, 2};
  const std::vector<std::uint32_t> three{1, 2, 0x04'03'02'01};

  BOOST_TEST(hash_block(two, 1337, "\x01\x02\x03\x04").get() == hash_block(three, 1337).get());
  BOOST_TEST(hash_block(two, 1337, "").get() == hash_block(two, 1337).get());
  BOOST_TEST(hash_block({}, 0, "sql-adapter").get() == 9'867'606'577'583'456'363U);
}

BOOST_AUTO_TEST_CASE(extra_keys_belong_to_their_block_only) {
  // A list shorter than the blocks, with empty entries: the others keep their plain hash.
  const auto tokens = counting(0, 6);
  const std::vector<std::string> keys{"", "image"};
  std::vector<local_hash> plain;
  std::vector<local_hash> keyed;
  hash_blocks(tokens, 2, 1337, plain);
  hash_blocks(tokens, 2, 1337, keyed, keys);

  BOOST_REQUIRE(keyed.size() == 3U);
  BOOST_TEST(keyed[0].get() == plain[0].get());
  BOOST_TEST(keyed[1].get() == hash_block(std::span(tokens).subspan(2, 2), 1337, "image").get());
  BOOST_TEST(keyed[1].get() != plain[1].get());
  BOOST_TEST(keyed[2].get() == plain[2].get());
}

BOOST_AUTO_TEST_CASE(results_are_appended) {
  // Buffers are reused between events: what is in them already stays.
  std::vector<local_hash> locals{local_hash{7}};
  std::vector<seq_hash> sequence{seq_hash{8}};
  hash_blocks(counting(0, 2), 1, 0, locals);
  roll_from_root(locals, 0, sequence);

  BOOST_TEST(locals.size() == 3U);
  BOOST_TEST(sequence.size() == 4U);
  BOOST_TEST(locals[0].get() == 7U);
  BOOST_TEST(sequence[1].get() == first_in_sequence(local_hash{7}).get());
}

BOOST_AUTO_TEST_CASE(digests_tell_bytes_apart) {
  // Fingerprints of batches: equal for equal bytes, different when a byte changes.
  const std::array<std::byte, 3> some{std::byte{1}, std::byte{2}, std::byte{3}};
  const std::array<std::byte, 3> other{std::byte{1}, std::byte{2}, std::byte{4}};

  BOOST_TEST(digest(some) == digest(some));
  BOOST_TEST(digest(some) != digest(other));
  BOOST_TEST(digest(some) != digest(std::span(some).first(2)));
}

BOOST_AUTO_TEST_CASE(digests_are_those_of_the_function_at_every_length) {
  // Long ones go another way than short ones, chosen for the CPU: both are XXH3, as a block's hash with seed 0 is.
  std::vector<std::uint32_t> words(1'500);
  for (std::uint32_t i = 0; i < words.size(); ++i) words[i] = i * 0x9E37'79B9U;
  for (std::size_t count = 0; count < words.size(); count += count < 80 ? 1 : 97) {
    const auto some = std::span(words).first(count);
    BOOST_TEST_REQUIRE(digest(std::as_bytes(some)) == hash_block(some, 0).get(), count << " words");
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
