// Behaviour of pools, shared and private. Run for every index of index_suite.hpp.
#include <boost/test/unit_test.hpp>

#include "tests/support/index_suite.hpp"

namespace kvc::test::suite {
namespace {

BOOST_AUTO_TEST_SUITE(index_pools)

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
