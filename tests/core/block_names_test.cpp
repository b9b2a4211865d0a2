#include "core/block_names.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "tests/support/pool_scene.hpp"

BOOST_AUTO_TEST_SUITE(block_names_of_pools)

namespace {

using namespace kvc::core;

std::vector<std::uint32_t> nodes_of(const block_names& names, std::uint16_t home, std::uint64_t block) {
  std::vector<std::uint32_t> found;
  names.each(home, seq_hash{block}, [&found](std::uint32_t node) { found.push_back(node); });
  return found;
}

/// The names of the first blocks of a prompt, by block.
std::vector<std::vector<std::uint64_t>> names_of(const kvc::test::pools::one_stream& pool, const std::vector<std::uint32_t>& tokens) {
  const partition_key key = kvc::test::applier::with_lora("");
  std::vector<local_hash> locals;
  std::vector<seq_hash> blocks;
  hash_blocks(tokens, key.block_size, kvc::test::applier::seed, locals);
  roll_from_root(locals, kvc::test::applier::seed, blocks);
  std::vector<named_block> found;
  pool.applier->names_of(key, blocks, found);
  std::vector<std::vector<std::uint64_t>> names(blocks.size());
  for (const named_block& each : found) names[each.index].push_back(each.name.get());
  return names;
}

using list = std::vector<std::vector<std::uint64_t>>;

}  // namespace

BOOST_AUTO_TEST_CASE(a_block_leads_to_all_of_its_nodes_whichever_goes_first) {
  for (std::uint32_t gone = 1; gone <= 3; ++gone) {
    block_names names;
    for (std::uint32_t node = 1; node <= 3; ++node) names.add(0, seq_hash{7}, node);
    names.add(0, seq_hash{7}, 2);  // is there already
    names.add(1, seq_hash{7}, 9);
    names.remove(0, seq_hash{7}, gone);
    names.remove(0, seq_hash{7}, 8);  // is not there

    std::vector<std::uint32_t> left = nodes_of(names, 0, 7);
    std::sort(left.begin(), left.end());
    std::vector<std::uint32_t> expected{1, 2, 3};
    std::erase(expected, gone);
    BOOST_TEST(left == expected, boost::test_tools::per_element());
    BOOST_TEST(nodes_of(names, 1, 7) == std::vector<std::uint32_t>{9}, boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(nothing_is_left_of_names_that_have_gone_and_no_block_has_more_than_it_may) {
  block_names names;
  for (std::uint32_t node = 0; node < 2 * block_names::most_names; ++node) names.add(0, seq_hash{7}, node);
  BOOST_TEST(nodes_of(names, 0, 7).size() == block_names::most_names);
  for (std::uint32_t node = 0; node < 2 * block_names::most_names; ++node) names.remove(0, seq_hash{7}, node);

  BOOST_TEST(names.size() == 0U);
}

BOOST_AUTO_TEST_CASE(a_pool_tells_what_engines_call_its_blocks_for_as_long_as_it_has_them) {
  using namespace kvc::test::pools;
  scene at;
  auto& engine = at.engine("a");
  auto& store = at.pool(1);
  engine.apply(store_of({11, 12}, {1, 2, 3, 4}));
  store.apply(object_of(vllm_key(11)));
  store.apply(object_of(vllm_key(12)));
  BOOST_TEST((names_of(store, {1, 2, 3, 4}) == list{{}, {}}));
  at.settle();
  engine.apply(remove_of({11, 12}));

  BOOST_TEST((names_of(store, {1, 2, 3, 4}) == list{{11}, {12}}));
  BOOST_TEST((names_of(store, {3, 4}) == list{{}}));
  BOOST_TEST((names_of(engine, {1, 2, 3, 4}) == list{{}, {}}));  // nobody's pool
  store.apply(object_of(vllm_key(11), change::removed));
  BOOST_TEST((names_of(store, {1, 2, 3, 4}) == list{{}, {12}}));
}

BOOST_AUTO_TEST_CASE(a_chunk_is_found_by_each_of_its_blocks) {
  using namespace kvc::test::pools;
  scene at;
  auto& store = at.pool(1);
  auto& engine = at.engine("a");
  event chunk = store_of({0xb}, {1, 2, 3, 4, 5, 6});
  std::get<stored_event>(chunk).scope.block_size = 6;  // as LMCache tells of it in the engine's stream
  std::get<stored_event>(chunk).scope.medium = medium_id::cpu;
  engine.apply(chunk);
  store.apply(object_of("vllm@m@1@0@b@half"));
  at.settle();

  BOOST_TEST((names_of(store, {1, 2, 3, 4, 5, 6}) == list{{0xb}, {0xb}, {0xb}}));
  store.apply(object_of("vllm@m@1@0@b@half", change::removed));
  BOOST_TEST((names_of(store, {1, 2, 3, 4, 5, 6}) == list{{}, {}, {}}));
}

BOOST_AUTO_TEST_SUITE_END()
