#include "core/prefix_index.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "core/block_hasher.hpp"

BOOST_AUTO_TEST_SUITE(prefix_index)

namespace {

using namespace kvc::core;

constexpr std::uint64_t seed = 1337;
constexpr worker_id one{1};
constexpr worker_id two{2};

BOOST_AUTO_TEST_CASE(a_block_is_held_once_per_name) {
  // Twins of one worker: the block stays until each name is released.
  kvc::core::prefix_index index(seed);
  const std::vector<local_hash> query{local_hash{5}};
  match_result answer;
  index.hold(seq_hash{5}, one, medium_id::gpu);
  index.hold(seq_hash{5}, one, medium_id::gpu);

  index.release(seq_hash{5}, one, medium_id::gpu);
  index.match(query, {}, answer);
  BOOST_TEST(answer.of(one).any == 1U);
  index.release(seq_hash{5}, one, medium_id::gpu);
  index.match(query, {}, answer);
  BOOST_TEST(answer.of(one).any == 0U);
  BOOST_TEST(index.blocks() == 0U);
}

BOOST_AUTO_TEST_CASE(releasing_what_is_not_held_does_nothing) {
  // Neither an unknown block, nor another worker's, nor another medium.
  kvc::core::prefix_index index(seed);
  index.hold(seq_hash{5}, one, medium_id::gpu);
  index.release(seq_hash{6}, one, medium_id::gpu);
  index.release(seq_hash{5}, two, medium_id::gpu);
  index.release(seq_hash{5}, one, medium_id::cpu);

  BOOST_TEST(index.blocks() == 1U);
}

BOOST_AUTO_TEST_CASE(memory_returns_with_the_last_holder) {
  // A block many have held and left costs nothing afterwards, spilled holder lists included.
  kvc::core::prefix_index index(seed);
  for (std::uint64_t block = 0; block < 100; ++block) {
    for (std::uint32_t who = 0; who < 50; ++who) index.hold(seq_hash{block}, worker_id{who}, medium_id::gpu);
  }
  const std::size_t full = index.bytes();
  for (std::uint64_t block = 0; block < 100; ++block) {
    for (std::uint32_t who = 0; who < 50; ++who) index.release(seq_hash{block}, worker_id{who}, medium_id::gpu);
  }
  const std::size_t drained = index.bytes();
  for (std::uint64_t block = 0; block < 100; ++block) index.hold(seq_hash{block}, one, medium_id::gpu);
  const std::size_t single = index.bytes();
  for (std::uint64_t block = 0; block < 100; ++block) index.release(seq_hash{block}, one, medium_id::gpu);

  BOOST_TEST(full > single);
  BOOST_TEST(single > drained);
  BOOST_TEST(index.bytes() == drained);  // nothing but the bucket array is left
  BOOST_TEST(index.blocks() == 0U);
}

BOOST_AUTO_TEST_CASE(rows_are_sorted_and_reused) {
  // `of` looks a worker up by binary search; the result of an earlier query must not show through.
  kvc::core::prefix_index index(seed);
  for (const std::uint32_t who : {9U, 3U, 7U}) index.hold(seq_hash{5}, worker_id{who}, medium_id::gpu);
  match_result answer;
  index.match(std::vector<local_hash>{local_hash{5}, local_hash{6}}, {}, answer);
  BOOST_TEST(answer.workers.size() == 3U);
  BOOST_TEST(std::ranges::is_sorted(answer.workers, {}, &worker_depth::worker));

  index.match(std::vector<local_hash>{local_hash{8}}, {}, answer);
  BOOST_TEST(answer.workers.empty());
  index.match(std::vector<local_hash>{}, {}, answer);
  BOOST_TEST(answer.workers.empty());
}

BOOST_AUTO_TEST_CASE(a_media_filter_hides_workers_and_blocks) {
  // A query for some media knows nothing of the others: no rows, no depth.
  kvc::core::prefix_index index(seed);
  index.hold(seq_hash{5}, one, medium_id::gpu);
  index.hold(seq_hash{5}, two, medium_id::disk);
  match_scope disk_only;
  disk_only.media = mask_of(medium_id::disk);
  match_result answer;
  index.match(std::vector<local_hash>{local_hash{5}}, disk_only, answer);

  BOOST_REQUIRE(answer.workers.size() == 1U);
  BOOST_TEST(answer.workers[0].worker.get() == two.get());
  BOOST_TEST(answer.workers[0].any == 1U);
  BOOST_TEST(answer.workers[0].device_or_host == 0U);
  BOOST_TEST(answer.workers[0].on[2] == 1U);
}

BOOST_AUTO_TEST_CASE(every_seed_has_sequence_hashes_of_its_own) {
  // The seed of the partition rolls the query; a query by sequence hashes is taken as it is.
  kvc::core::prefix_index index(7);
  const std::vector<local_hash> query{local_hash{5}, local_hash{6}};
  std::vector<seq_hash> rolled;
  roll_from_root(query, 7, rolled);
  for (const seq_hash each : rolled) index.hold(each, one, medium_id::gpu);
  match_result answer;

  index.match(query, {}, answer);
  BOOST_TEST(answer.of(one).any == 2U);
  index.match(rolled, {}, answer);
  BOOST_TEST(answer.of(one).any == 2U);
  BOOST_TEST(index.seed() == 7U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
