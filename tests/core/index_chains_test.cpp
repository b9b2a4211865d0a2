// Behaviour of chains: prefixes, holes, forks, depth. Run for every index of index_suite.hpp.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "core/block_hasher.hpp"
#include "tests/support/index_suite.hpp"

namespace kvc::test::suite {
BOOST_AUTO_TEST_SUITE(index_chains)

namespace {

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

BOOST_AUTO_TEST_CASE_TEMPLATE(a_long_chain_that_grew_in_pieces_is_left_at_any_block, Subject, index_subjects) {
  // Long stretches are compared by what sums them up: it must follow every piece, and a tail that was given up for another one.
  std::vector<engine_hash> named;
  std::vector<local_hash> content;
  scene<Subject> at({first, second});
  const auto grow_to = [&](std::size_t length, std::uint64_t salt) {
    for (std::size_t piece = 1; content.size() < length; ++piece) {
      const std::size_t from = content.size();
      const std::size_t until = std::min(length, from + piece * 7 % 101);
      for (std::uint64_t i = from; i < until; ++i) {
        named.emplace_back(i * 2 + salt * 1'000'000 + 1);
        content.emplace_back(i * i * 3 + salt);
      }
      const std::vector<engine_hash> more(named.begin() + static_cast<std::ptrdiff_t>(from), named.end());
      const std::vector<local_hash> what(content.begin() + static_cast<std::ptrdiff_t>(from), content.end());
      from == 0 ? at.root(first, more, what) : at.behind(first, named[from - 1].get(), more, what);
    }
  };
  const auto is_left_where_it_differs = [&] {
    // The model compares whole prefixes, so it is asked at some places only.
    const std::size_t apart = Subject::deep_chain <= content.size() ? 7 : 1;
    for (std::size_t place = 0; place < content.size(); place += apart) {
      std::vector<local_hash> query = content;
      query[place] = local_hash{query[place].get() ^ 1U << place % 32};
      BOOST_REQUIRE(at.depth(first, query) == place);
    }
    BOOST_TEST(at.depth(first, content) == content.size());
  };
  grow_to(700, 1);
  is_left_where_it_differs();
  while (content.size() > 300) {
    at.index.remove(first, named.back(), medium_id::gpu);
    named.pop_back();
    content.pop_back();
  }
  BOOST_TEST(at.depth(first, content) == 300U);
  grow_to(600, 2);
  is_left_where_it_differs();
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace kvc::test::suite
