// Behaviour of pools, shared and private. Run for every index of index_suite.hpp.
#include <vector>

#include <boost/test/unit_test.hpp>

#include "core/block_hasher.hpp"
#include "tests/support/index_suite.hpp"

namespace kvc::test::suite {
BOOST_AUTO_TEST_SUITE(index_pools)

namespace {

BOOST_AUTO_TEST_CASE_TEMPLATE(a_shared_pool_lends_to_every_worker, Subject, index_subjects) {
  // A pool of host memory that all instances can read from.
  scene<Subject> at({first, second});
  at.index.add(third, {.instance = "store", .is_pool = true, .is_shared = true});
  at.root(first, names({11}), blocks({1}));
  at.root(third, names({31, 32}), blocks({1, 2}), medium_id::cpu);
  at.behind(first, 11, names({12}), blocks({2}));
  at.behind(first, 12, names({13}), blocks({3}));
  at.remove(first, {12});

  BOOST_TEST(at.depth(first, blocks({1, 2, 3})) == 3U);  // its own 1 and 3, the pool's 2
  BOOST_TEST(at.depth(first, blocks({1, 2, 3}), core::mask_of(medium_id::gpu)) == 1U);
  BOOST_TEST(at.depth(first, blocks({1, 2, 3}), core::mask_of(medium_id::cpu)) == 2U);
  BOOST_TEST(at.depth(second, blocks({1, 2, 3})) == 2U);  // holds nothing itself
  at.index.drop(third);
  BOOST_TEST(at.depth(first, blocks({1, 2, 3})) == 1U);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_worker_may_join_behind_blocks_of_a_pool, Subject, index_subjects) {
  // The pool holds the head of the chain, the worker only what follows.
  scene<Subject> at({first, second});
  at.index.add(third, {.instance = "store", .is_pool = true, .is_shared = true});
  at.root(third, names({31, 32}), blocks({1, 2}), medium_id::cpu);
  at.root(first, names({11, 12, 13}), blocks({1, 2, 3}));
  at.remove(first, {11, 12});

  BOOST_TEST(at.depth(first, blocks({1, 2, 3})) == 3U);
  BOOST_TEST(at.depth(second, blocks({1, 2, 3})) == 2U);
  at.remove(third, {31}, medium_id::cpu);
  BOOST_TEST(at.depth(first, blocks({1, 2, 3})) == 0U);
}

/// Blocks `from` to `to` (exclusive) of a chain, which has block i at position i - 1.
std::vector<local_hash> stretch(std::uint64_t from, std::uint64_t to) {
  std::vector<local_hash> made;
  for (std::uint64_t i = from; i < to; ++i) made.emplace_back(i);
  return made;
}

BOOST_AUTO_TEST_CASE_TEMPLATE(blocks_in_no_run_count_beside_the_runs, Subject, index_subjects) {
  // Pools and publishers on the standard name blocks by their sequence hash. Long stretches of them, with and without holes.
  const auto content = stretch(1, 301);
  std::vector<core::seq_hash> rolled;
  core::roll_from_root(content, test_seed, rolled);
  scene<Subject> at({first, second, worker_id{4}});
  at.index.add(third, {.instance = "store", .is_pool = true, .is_shared = true});
  const auto store_named = [&](worker_id who, std::size_t from, std::size_t to, medium_id medium) {
    std::vector<engine_hash> named;
    for (std::size_t i = from; i < to; ++i) named.emplace_back(rolled[i].get());
    at.standard(who, named, medium);
  };
  const auto is_depth = [&](worker_id who, std::uint32_t wanted, core::media_mask among = core::all_media) {
    BOOST_TEST(at.depth(who, content, among) == wanted);
    BOOST_TEST(at.index.depth_by_sequence(0, who, among, content) == wanted);
  };
  std::vector<engine_hash> own;
  for (std::uint64_t i = 1; i <= 300; ++i) own.emplace_back(i + 1'000'000);
  at.root(first, {own.begin(), own.begin() + 100}, stretch(1, 101));
  at.root(second, {own.begin(), own.begin() + 10}, stretch(1, 11));
  store_named(second, 130, 300, medium_id::cpu);
  store_named(third, 90, 120, medium_id::disk);
  store_named(third, 121, 140, medium_id::disk);

  is_depth(first, 120);
  is_depth(first, 100, core::mask_of(medium_id::gpu));
  is_depth(second, 10);
  is_depth(worker_id{4}, 0);
  store_named(third, 120, 121, medium_id::disk);
  is_depth(first, 140);
  store_named(second, 10, 90, medium_id::cpu);
  is_depth(second, 300);
  is_depth(second, 90, device_and_host);
  is_depth(second, 10, core::mask_of(medium_id::gpu));
  // A hole in the run, which nobody else fills, and then somebody does.
  at.index.remove(first, own[63], medium_id::gpu);
  is_depth(first, 63);
  store_named(third, 63, 64, medium_id::cpu);
  is_depth(first, 140);
  is_depth(first, 0, core::mask_of(medium_id::cpu));
  // Carried by the pool from the root on, a worker may join anywhere.
  store_named(third, 0, 90, medium_id::disk);
  is_depth(worker_id{4}, 140);
  store_named(worker_id{4}, 140, 200, medium_id::gpu);
  is_depth(worker_id{4}, 200);
  is_depth(first, 140);
  at.index.drop(third);
  is_depth(worker_id{4}, 0);
  is_depth(second, 90);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_private_pool_lends_to_its_instance_only, Subject, index_subjects) {
  // A cache beside one engine: every rank of that engine can use it.
  scene<Subject> at({});
  at.index.add(first, {.instance = "a", .rank = 0});
  at.index.add(second, {.instance = "b", .rank = 0});
  at.index.add(worker_id{4}, {.instance = "a", .rank = 1});
  at.index.add(third, {.instance = "a", .is_pool = true});
  at.root(third, names({31}), blocks({1}), medium_id::disk);

  BOOST_TEST(at.depth(first, blocks({1})) == 1U);
  BOOST_TEST(at.depth(worker_id{4}, blocks({1})) == 1U);
  BOOST_TEST(at.depth(second, blocks({1})) == 0U);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_private_pool_without_an_engine_answers_for_itself, Subject, index_subjects) {
  // Until its engine registers, the pool is the only one who can use what it holds.
  scene<Subject> at({});
  at.index.add(third, {.instance = "a", .is_pool = true});
  at.root(third, names({31}), blocks({1}), medium_id::disk);
  BOOST_TEST(at.depth(third, blocks({1})) == 1U);

  at.index.add(first, {.instance = "a", .rank = 0});
  BOOST_TEST(at.depth(first, blocks({1})) == 1U);
  BOOST_TEST(at.depth(third, blocks({1})) == 0U);
  at.index.drop(first);
  BOOST_TEST(at.depth(third, blocks({1})) == 1U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace kvc::test::suite
