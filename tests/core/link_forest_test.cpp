// Trees of which anything may be asked and moved: against a walk along parents, and how long a way may be.
#include "core/link_forest.hpp"

#include <map>
#include <random>

#include <boost/test/unit_test.hpp>

#include "tests/support/setting.hpp"

namespace kvc::test {
BOOST_AUTO_TEST_SUITE(link_forest)

namespace {

BOOST_AUTO_TEST_CASE(a_node_is_behind_what_a_walk_along_its_parents_meets) {
  // Random links, cuts and questions.
  const std::uint64_t first = setting("KVC_PROPERTY_SEED", std::random_device{}());
  for (std::uint64_t of = first; of < first + 20; ++of) {
    std::mt19937_64 random(of);
    const auto nodes = static_cast<std::uint32_t>(2 + random() % 60);
    core::link_forest forest;
    std::map<std::uint32_t, std::uint32_t> parents;
    const auto meets = [&parents](std::uint32_t node, std::uint32_t other) {
      while (node != other && parents.contains(node)) node = parents[node];
      return node == other;
    };
    for (int step = 0; step < 3'000; ++step) {
      const auto node = static_cast<std::uint32_t>(random() % nodes);
      const auto other = static_cast<std::uint32_t>(random() % nodes);
      BOOST_TEST_REQUIRE(forest.is_behind(node, other) == meets(node, other), "seed " << of << ", step " << step);
      if (parents.contains(node)) {
        if (random() % 4 != 0) continue;  // mostly deep trees
        forest.cut(node);
        parents.erase(node);
      } else if (!meets(other, node)) {
        forest.link(node, other);
        parents[node] = other;
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(long_ways_are_asked_about_often) {
  // A prompt's chain, and questions across all of it: a walk for each would take minutes.
  constexpr std::uint32_t length = 100'000;
  core::link_forest forest;
  for (std::uint32_t node = 1; node < length; ++node) forest.link(node, node - 1);
  std::mt19937_64 random(1);
  for (std::uint32_t question = 0; question < length; ++question) {
    const auto node = static_cast<std::uint32_t>(random() % length);
    const auto other = static_cast<std::uint32_t>(random() % length);
    BOOST_TEST_REQUIRE(forest.is_behind(node, other) == (other <= node));
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace kvc::test
