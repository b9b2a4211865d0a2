#include "core/block_names.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace {

using namespace kvc::core;

std::vector<std::uint32_t> nodes_of(const block_names& names, std::uint16_t home, std::uint64_t block) {
  std::vector<std::uint32_t> found;
  names.each(home, seq_hash{block}, [&found](std::uint32_t node) { found.push_back(node); });
  return found;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(block_names_of_pools)

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

BOOST_AUTO_TEST_SUITE_END()
