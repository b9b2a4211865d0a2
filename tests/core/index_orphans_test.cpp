// Behaviour of blocks whose place is not known yet. Run for every index of index_suite.hpp.
#include <cstdint>

#include <boost/test/unit_test.hpp>

#include "core/catalog.hpp"
#include "tests/support/index_suite.hpp"
#include "tests/support/real_worker.hpp"

namespace kvc::test::suite {
BOOST_AUTO_TEST_SUITE(index_orphans)

namespace {

BOOST_AUTO_TEST_CASE_TEMPLATE(a_child_before_its_parent_counts_when_the_parent_comes, Subject, index_subjects) {
  // Late joiners and concurrent offloading see children first.
  scene<Subject> at({first});
  at.behind(first, 11, names({12, 13}), blocks({2, 3}));
  BOOST_TEST(at.depth(first, blocks({2, 3})) == 0U);  // never taken for a root
  BOOST_TEST(at.index.orphans(first) == 2U);

  at.root(first, names({11}), blocks({1}));
  BOOST_TEST(at.depth(first, blocks({1, 2, 3})) == 3U);
  BOOST_TEST(at.index.orphans(first) == 0U);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(orphans_of_several_levels_join_in_one_go, Subject, index_subjects) {
  // The worst order: every event of the chain backwards, with a fork.
  scene<Subject> at({first});
  at.behind(first, 13, names({14}), blocks({4}));
  at.behind(first, 12, names({13}), blocks({3}));
  at.behind(first, 12, names({23}), blocks({8}));
  at.behind(first, 11, names({12}), blocks({2}));
  BOOST_TEST(at.index.orphans(first) == 4U);

  at.root(first, names({11}), blocks({1}));
  BOOST_TEST(at.depth(first, blocks({1, 2, 3, 4})) == 4U);
  BOOST_TEST(at.depth(first, blocks({1, 2, 8})) == 3U);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(an_orphan_removed_before_its_parent_comes_stays_away, Subject, index_subjects) {
  // Middle removed first: its own removal must not need the chain, and those behind it wait for its return.
  scene<Subject> at({first});
  at.behind(first, 11, names({12, 13}), blocks({2, 3}));
  at.remove(first, {12});
  at.root(first, names({11}), blocks({1}));

  BOOST_TEST(at.depth(first, blocks({1, 2, 3})) == 1U);
  at.behind(first, 11, names({12}), blocks({2}));
  BOOST_TEST(at.depth(first, blocks({1, 2, 3})) == 3U);
}

BOOST_AUTO_TEST_CASE(many_orphans_behind_one_parent_are_given_up_as_fast_as_others) {
  // After a loss every branch of a shared prompt waits behind it. Each one that was given up used to be looked for among all of them, which
  // took longer than this test may.
  core::catalog all;
  real_worker worker(core::worker_id{1}, {}, all);
  worker.join(0);
  constexpr std::uint64_t more_than_are_kept = 200'000;
  for (std::uint64_t i = 0; i < more_than_are_kept; ++i) {
    store_step step;
    step.how = link::parent;
    step.parent = core::engine_hash{1};
    step.names = {core::engine_hash{100 + i}};
    step.locals = {core::local_hash{100 + i}};
    worker.store(step);
  }
  BOOST_TEST(worker.blocks().orphans() + worker.tally().dropped_orphans == more_than_are_kept);
  BOOST_TEST(worker.tally().dropped_orphans > 0U);
  worker.leave();
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_store_behind_a_forgotten_name_waits_for_its_return, Subject, index_subjects) {
  // The last copy of a parent has gone, so nobody knows any more where its name stood.
  scene<Subject> at({first});
  at.root(first, names({11}), blocks({1}));
  at.remove(first, {11});
  at.behind(first, 11, names({12}), blocks({2}));
  BOOST_TEST(at.depth(first, blocks({1, 2})) == 0U);

  at.root(first, names({11}), blocks({1}));
  BOOST_TEST(at.depth(first, blocks({1, 2})) == 2U);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_chain_that_names_itself_as_parent_waits_without_end, Subject, index_subjects) {
  // Old engines hashed content only, so a repeated page was its own parent.
  scene<Subject> at({first});
  at.behind(first, 11, names({11}), blocks({1}));
  at.behind(first, 13, names({12}), blocks({2}));
  at.behind(first, 12, names({13}), blocks({3}));

  BOOST_TEST(at.index.orphans(first) == 3U);
  BOOST_TEST(at.depth(first, blocks({1, 1})) == 0U);
  at.root(first, names({11}), blocks({1}));
  BOOST_TEST(at.depth(first, blocks({1, 1})) == 1U);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(the_oldest_orphans_go_when_too_many_wait, Subject, index_subjects) {
  // Memory is bounded whatever a publisher sends.
  scene<Subject> at({first}, {.max_orphans = 2});
  for (const std::uint64_t each : {12U, 13U, 14U}) at.behind(first, each - 1, names({each}), blocks({each}));
  BOOST_TEST(at.index.orphans(first) == 2U);

  at.root(first, names({11}), blocks({11}));
  BOOST_TEST(at.depth(first, blocks({11, 12, 13, 14})) == 1U);
  at.behind(first, 11, names({12}), blocks({12}));
  BOOST_TEST(at.depth(first, blocks({11, 12, 13, 14})) == 4U);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(an_orphan_told_of_again_is_young_again, Subject, index_subjects) {
  // What the engine has just mentioned is more likely to be asked for than what it mentioned long ago.
  scene<Subject> at({first}, {.max_orphans = 2});
  for (const std::uint64_t each : {22U, 33U, 22U, 44U}) at.behind(first, each - 1, names({each}), blocks({each}));

  at.root(first, names({21}), blocks({21}));
  at.root(first, names({32}), blocks({32}));
  BOOST_TEST(at.depth(first, blocks({21, 22})) == 2U);
  BOOST_TEST(at.depth(first, blocks({32, 33})) == 1U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace kvc::test::suite
