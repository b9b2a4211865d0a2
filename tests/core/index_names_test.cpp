// Behaviour of names: twins, moves, copies, and the standard's. Run for every index of index_suite.hpp.
#include <vector>

#include <boost/test/unit_test.hpp>

#include "core/block_hasher.hpp"
#include "tests/support/index_suite.hpp"

namespace kvc::test::suite {
BOOST_AUTO_TEST_SUITE(index_names)

namespace {

BOOST_AUTO_TEST_CASE_TEMPLATE(a_block_with_two_names_is_held_until_the_last_goes, Subject, index_subjects) {
  // Twins: the same content under two engine hashes is one block.
  scene<Subject> at({first});
  at.root(first, names({11}), blocks({1}));
  at.root(first, names({21}), blocks({1}));

  at.remove(first, {11});
  BOOST_TEST(at.depth(first, blocks({1})) == 1U);
  at.remove(first, {21});
  BOOST_TEST(at.depth(first, blocks({1})) == 0U);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_name_stored_elsewhere_moves, Subject, index_subjects) {
  // An engine that reuses a hash means the newer block.
  scene<Subject> at({first});
  at.root(first, names({11}), blocks({1}));
  at.root(first, names({11}), blocks({1}));  // two copies; a move takes both along into one
  at.root(first, names({11}), blocks({2}));

  BOOST_TEST(at.depth(first, blocks({1})) == 0U);
  BOOST_TEST(at.depth(first, blocks({2})) == 1U);
  at.behind(first, 11, names({12}), blocks({3}));
  BOOST_TEST(at.depth(first, blocks({2, 3})) == 2U);
  at.remove(first, {11});
  BOOST_TEST(at.depth(first, blocks({2})) == 0U);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_move_leaves_the_twin_and_the_children_where_they_are, Subject, index_subjects) {
  // Only the name moves: other names of the block keep it, and blocks behind it have a place of their own.
  scene<Subject> at({first});
  at.root(first, names({11, 12}), blocks({1, 2}));
  at.root(first, names({21}), blocks({1}));
  at.root(first, names({11}), blocks({5}));

  BOOST_TEST(at.depth(first, blocks({1, 2})) == 2U);
  BOOST_TEST(at.depth(first, blocks({5, 2})) == 1U);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(counted_copies_need_as_many_removals, Subject, index_subjects) {
  // vLLM announces physical copies.
  scene<Subject> at({first});
  at.root(first, names({11}), blocks({1}));
  at.root(first, names({11}), blocks({1}));

  at.remove(first, {11});
  BOOST_TEST(at.depth(first, blocks({1})) == 1U);
  at.remove(first, {11});
  BOOST_TEST(at.depth(first, blocks({1})) == 0U);
  at.remove(first, {11});  // one too many changes nothing
  at.root(first, names({11}), blocks({1}));
  BOOST_TEST(at.depth(first, blocks({1})) == 1U);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(uncounted_stores_need_one_removal, Subject, index_subjects) {
  // SGLang and TensorRT-LLM announce logical blocks; a repeated store is a refresh, orphan or not.
  scene<Subject> at({first}, {.copy_counting = false});
  at.root(first, names({11}), blocks({1}));
  at.root(first, names({11}), blocks({1}));
  at.behind(first, 21, names({22}), blocks({5}));
  at.behind(first, 21, names({22}), blocks({5}));
  at.root(first, names({21}), blocks({4}));

  at.remove(first, {11, 22});
  BOOST_TEST(at.depth(first, blocks({1})) == 0U);
  BOOST_TEST(at.depth(first, blocks({4, 5})) == 1U);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(copies_of_an_orphan_are_counted_too, Subject, index_subjects) {
  // Its stores came before its place was known; they happened all the same.
  scene<Subject> at({first});
  at.behind(first, 11, names({12}), blocks({2}));
  at.behind(first, 11, names({12}), blocks({2}));
  at.root(first, names({11}), blocks({1}));

  at.remove(first, {12});
  BOOST_TEST(at.depth(first, blocks({1, 2})) == 2U);
  at.remove(first, {12});
  BOOST_TEST(at.depth(first, blocks({1, 2})) == 1U);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(an_orphan_joins_by_its_own_name_too, Subject, index_subjects) {
  // Its parent stays unknown, but another event tells where its name stands.
  scene<Subject> at({first});
  at.behind(first, 99, names({12}), blocks({2}), medium_id::cpu);
  at.root(first, names({11, 12}), blocks({1, 2}), medium_id::gpu);

  BOOST_TEST(at.depth(first, blocks({1, 2}), core::mask_of(medium_id::gpu)) == 2U);
  BOOST_TEST(at.index.orphans(first) == 0U);
  at.remove(first, {12}, medium_id::gpu);
  BOOST_TEST(at.depth(first, blocks({1, 2})) == 2U);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(standard_hashes_say_where_they_stand, Subject, index_subjects) {
  // Publishers on the standard name blocks by their sequence hash: no parent, any order.
  const auto content = blocks({1, 2, 3});
  std::vector<core::seq_hash> rolled;
  core::roll_from_root(content, test_seed, rolled);
  scene<Subject> at({first});
  at.standard(first, {engine_hash{rolled[2].get()}, engine_hash{rolled[0].get()}});
  BOOST_TEST(at.depth(first, content) == 1U);

  at.standard(first, {engine_hash{rolled[1].get()}});
  BOOST_TEST(at.depth(first, content) == 3U);
  at.behind(first, rolled[2].get(), names({14}), blocks({4}));
  BOOST_TEST(at.depth(first, blocks({1, 2, 3, 4})) == 4U);
  at.index.remove(first, engine_hash{rolled[0].get()}, medium_id::gpu);
  BOOST_TEST(at.depth(first, content) == 0U);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_standard_hash_stands_in_several_partitions_at_once, Subject, index_subjects) {
  // The adapter and the salt are no part of the hash: a prompt that several adapters share has the same names in each.
  const auto content = blocks({1, 2});
  std::vector<core::seq_hash> rolled;
  core::roll_from_root(content, test_seed, rolled);
  const std::vector<engine_hash> named{engine_hash{rolled[0].get()}, engine_hash{rolled[1].get()}};
  scene<Subject> at({first});
  const auto depths = [&] {
    std::vector<std::uint32_t> all;
    for (const std::size_t partition : {0U, 1U, 2U}) all.push_back(at.depth(first, content, core::all_media, partition));
    return all;
  };
  for (const std::size_t partition : {0U, 1U, 2U}) at.standard(first, named, medium_id::gpu, partition);
  BOOST_TEST(depths() == (std::vector<std::uint32_t>{2, 2, 2}), boost::test_tools::per_element());
  BOOST_TEST(at.index.held_on(first, medium_id::gpu) == 6U);
  BOOST_TEST(at.index.names(first) == 2U);

  at.index.remove(first, named[1], medium_id::gpu, {.partition = 1, .is_explicit = true});
  BOOST_TEST(depths() == (std::vector<std::uint32_t>{2, 1, 2}), boost::test_tools::per_element());
  at.index.remove(first, named[1], medium_id::gpu, {.partition = 1, .is_explicit = true});  // there is none left
  BOOST_TEST(depths() == (std::vector<std::uint32_t>{2, 1, 2}), boost::test_tools::per_element());
  at.index.remove(first, named[1], medium_id::gpu, {.partition = 1});  // of a publisher that names its adapters when it stores only
  BOOST_TEST(depths() == (std::vector<std::uint32_t>{2, 1, 1}), boost::test_tools::per_element());

  at.index.clear(first, core::all_media, 0);
  BOOST_TEST(depths() == (std::vector<std::uint32_t>{0, 1, 1}), boost::test_tools::per_element());
  at.standard(first, named, medium_id::cpu, 1);
  at.index.remove(first, named[0], medium_id::gpu, {.partition = 1, .is_explicit = true});
  BOOST_TEST(depths() == (std::vector<std::uint32_t>{0, 2, 1}), boost::test_tools::per_element());
  // An engine that calls another block by the same name means that block from then on, and nothing else.
  at.root(first, {named[0]}, blocks({9}), medium_id::gpu, 2);
  BOOST_TEST(at.depth(first, content, core::mask_of(medium_id::gpu), 2) == 0U);
  BOOST_TEST(at.depth(first, blocks({9}), core::all_media, 2) == 1U);
  BOOST_TEST(at.depth(first, content, core::all_media, 1) == 2U);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(sequence_hash_queries_equal_local_hash_queries, Subject, index_subjects) {
  // /query and /query_by_hash are two ways to ask the same.
  scene<Subject> at({first});
  at.root(first, names({11, 12, 13}), blocks({1, 2, 3}));
  at.root(first, names({11, 12}), blocks({1, 2}), medium_id::cpu);
  at.remove(first, {13});

  for (const auto& query : {blocks({1, 2, 3}), blocks({1, 2}), blocks({1, 9}), blocks({2}), blocks({})}) {
    for (const core::media_mask among : {core::all_media, core::mask_of(medium_id::cpu), device_and_host}) {
      BOOST_TEST(at.index.depth_by_sequence(0, first, among, query) == at.depth(first, query, among));
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace kvc::test::suite
