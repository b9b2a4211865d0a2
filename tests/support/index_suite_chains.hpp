// Behaviour of chains: prefixes, holes, orphans, depth. Included by index_suite.hpp only.
#pragma once

namespace kvc::test::suite {

BOOST_AUTO_TEST_SUITE(index_chains)

BOOST_AUTO_TEST_CASE_TEMPLATE(an_empty_index_matches_nothing, Subject, index_subjects) {
  // The first query of a fleet comes before the first event.
  scene<Subject> at({first});

  BOOST_TEST(at.depth(first, blocks({1, 2})) == 0U);
  BOOST_TEST(at.depth(first, {}) == 0U);
  BOOST_TEST(at.depth(first, blocks({1}), core::all_media, 7) == 0U);  // a partition nobody has opened
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_prefix_is_as_long_as_the_common_blocks, Subject, index_subjects) {
  // The one thing the index is for.
  scene<Subject> at({first});
  at.root(first, names({11, 12, 13}), blocks({1, 2, 3}));

  BOOST_TEST(at.depth(first, blocks({1, 2, 3})) == 3U);
  BOOST_TEST(at.depth(first, blocks({1, 2, 3, 4})) == 3U);
  BOOST_TEST(at.depth(first, blocks({1, 2, 9, 3})) == 2U);
  BOOST_TEST(at.depth(first, blocks({1})) == 1U);
  BOOST_TEST(at.depth(first, blocks({2, 3})) == 0U);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_partial_tail_never_matters, Subject, index_subjects) {
  // Only complete blocks are in the query, whatever the prompt's length is.
  constexpr std::uint32_t block_size = 4;
  const std::vector<std::uint32_t> prompt{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  std::vector<local_hash> whole;
  std::vector<local_hash> trimmed;
  core::hash_blocks(prompt, block_size, test_seed, whole);
  core::hash_blocks(std::span(prompt).first(8), block_size, test_seed, trimmed);
  scene<Subject> at({first});
  at.root(first, names({11, 12}), whole);

  BOOST_TEST(whole.size() == 2U);
  BOOST_TEST(at.depth(first, whole) == 2U);
  BOOST_TEST(at.depth(first, trimmed) == 2U);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(equal_blocks_behind_different_prefixes_are_different, Subject, index_subjects) {
  // A block's identity is its whole prefix, not its content.
  scene<Subject> at({first});
  at.root(first, names({11, 12}), blocks({1, 5}));
  at.root(first, names({21}), blocks({2}));

  BOOST_TEST(at.depth(first, blocks({1, 5})) == 2U);
  BOOST_TEST(at.depth(first, blocks({2, 5})) == 1U);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_repeated_block_has_a_place_of_its_own_each_time, Subject, index_subjects) {
  // Prompts with repetitions have equal local hashes in a row.
  scene<Subject> at({first});
  at.root(first, names({11, 12, 13}), blocks({7, 7, 7}));

  BOOST_TEST(at.depth(first, blocks({7, 7, 7, 7})) == 3U);
  at.remove(first, {12});
  BOOST_TEST(at.depth(first, blocks({7, 7, 7})) == 1U);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_hole_ends_a_prefix_and_healing_restores_what_is_behind, Subject, index_subjects) {
  // Engines evict in any order; what is behind the hole is still there.
  scene<Subject> at({first});
  at.root(first, names({11, 12, 13, 14}), blocks({1, 2, 3, 4}));

  at.remove(first, {12});
  BOOST_TEST(at.depth(first, blocks({1, 2, 3, 4})) == 1U);
  at.remove(first, {11});
  BOOST_TEST(at.depth(first, blocks({1, 2, 3, 4})) == 0U);
  at.root(first, names({11}), blocks({1}));
  BOOST_TEST(at.depth(first, blocks({1, 2, 3, 4})) == 1U);
  at.behind(first, 11, names({12}), blocks({2}));
  BOOST_TEST(at.depth(first, blocks({1, 2, 3, 4})) == 4U);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_store_behind_a_middle_block_branches, Subject, index_subjects) {
  // Conversations fork.
  scene<Subject> at({first});
  at.root(first, names({11, 12, 13}), blocks({1, 2, 3}));
  at.behind(first, 12, names({23, 24}), blocks({8, 9}));

  BOOST_TEST(at.depth(first, blocks({1, 2, 3})) == 3U);
  BOOST_TEST(at.depth(first, blocks({1, 2, 8, 9})) == 4U);
}

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

BOOST_AUTO_TEST_CASE_TEMPLATE(a_deep_chain_is_matched_to_its_end, Subject, index_subjects) {
  // Long contexts: no recursion, no limit on depth; backwards it is the longest chain of orphans.
  constexpr std::size_t length = Subject::deep_chain;
  std::vector<engine_hash> named;
  std::vector<local_hash> content;
  for (std::uint64_t i = 0; i < length; ++i) {
    named.emplace_back(i + 1'000'000);
    content.emplace_back(i * i + 1);
  }
  scene<Subject> at({first, second});
  at.root(first, named, content);
  for (std::size_t i = length; i-- > 1;) at.behind(second, named[i - 1].get(), {named[i]}, {content[i]});
  BOOST_TEST(at.index.orphans(second) == length - 1);
  at.root(second, {named[0]}, {content[0]});

  BOOST_TEST(at.depth(first, content) == length);
  BOOST_TEST(at.depth(second, content) == length);
  at.index.remove(first, named[length / 2], medium_id::gpu);
  BOOST_TEST(at.depth(first, content) == length / 2);
  at.index.drop(second);
  BOOST_TEST(at.depth(second, content) == 0U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kvc::test::suite
