// Pieces of a plan of eviction that are asked for in parts.
#include <cstddef>
#include <cstdint>
#include <string>

#include <boost/test/unit_test.hpp>

#include "core/evictor.hpp"

BOOST_AUTO_TEST_SUITE(evictor_parts)

namespace {

using namespace kvc::core;

/// Ten keys of a salt that may keep none, and a planner.
struct all_to_go {
  all_to_go() {
    for (int i = 0; i < 10; ++i) (void)ledger.store({std::to_string(i), "m", 0, 0, "a"}, 10);
    (void)quotas.set("a", 0);
  }
  /// One whole cycle: the hashes of its keys.
  std::string cycle() {
    planner.begin();
    while (!planner.step(3)) {
    }
    std::string hashes;
    for (const auto& piece : planner.take_pieces({})) {
      (void)planner.visit_keys(piece.id, 0, {.keys = 1'000}, [&](const object_key& each) { hashes += each.hash; });
    }
    return hashes;
  }

  usage_ledger ledger;
  quota_table quotas;
  evictor planner{ledger, quotas, {}};
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(a_piece_that_is_refused_in_part_comes_back_in_part, all_to_go) {
  // One key that requests are refused for is no reason to set aside those that were in them.
  BOOST_TEST(cycle() == "0123456789");
  planner.refused(1, 4, 5);
  planner.accepted(1);
  for (std::uint32_t piece = 2; piece <= 3; ++piece) {
    BOOST_TEST(cycle() == "4");
    planner.refused(piece, 0, 1);
  }
  BOOST_TEST(ledger.keys_set_aside() == 1U);

  planner.failed(1, 0, 2);
  BOOST_TEST(cycle() == "014");
  planner.refused(1, 8, 1'000);
  BOOST_TEST(cycle() == "89");
  planner.refused(1, 500, 600);
  planner.failed(999, 0, 1);
  BOOST_TEST(cycle() == "");
  BOOST_TEST(ledger.keys_set_aside() == 1U);
  BOOST_TEST(planner.counters().failed == 7U);
}

BOOST_AUTO_TEST_SUITE_END()
