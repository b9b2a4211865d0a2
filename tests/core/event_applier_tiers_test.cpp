// What other tiers tell of an engine's blocks beside the engine itself: without a parent, with a wrong one, before the block is known.
#include <boost/test/unit_test.hpp>

#include "tests/support/applier_stream.hpp"

BOOST_AUTO_TEST_SUITE(event_applier_tiers)

namespace {

using namespace kvc::core;
using namespace kvc::test::applier;

constexpr media_mask gpu = mask_of(medium_id::gpu);
constexpr media_mask cpu = mask_of(medium_id::cpu);
const words prompt{1, 2, 3, 4, 5, 6, 7, 8};

BOOST_AUTO_TEST_CASE(a_connector_that_leaves_the_parent_out_means_the_block_the_engine_holds) {
  stream at(registered(publisher_type::vllm));
  at.store({11, 12, 13}, {1, 2, 3, 4, 5, 6});
  at.store({13}, {5, 6}, on(medium_id::cpu));
  at.store({14}, {7, 8}, on(medium_id::gpu), 13);

  BOOST_TEST(at.depth(prompt, gpu) == 4U);
  BOOST_TEST(at.depth({5, 6}) == 0U);  // no prompt begins there
  at.store({11, 12}, {1, 2, 3, 4}, on(medium_id::cpu));
  BOOST_TEST(at.depth(prompt, cpu) == 3U);
  at.remove({11, 12, 13, 14}, on(medium_id::gpu));
  BOOST_TEST(at.depth(prompt) == 3U);
  at.remove({11, 12, 13}, on(medium_id::cpu));
  BOOST_TEST(at.applier->names() == 0U);
  BOOST_TEST(at.tally.unknown_removals == 0U);
}

BOOST_AUTO_TEST_CASE(a_connector_that_names_a_wrong_parent_means_the_block_the_engine_holds) {
  // What it names is whatever it has stored last.
  stream at(registered(publisher_type::vllm));
  at.store({11, 12, 13}, {1, 2, 3, 4, 5, 6});
  at.store({13}, {5, 6}, on(medium_id::cpu), 11);
  at.store({14}, {7, 8}, on(medium_id::gpu), 13);

  BOOST_TEST(at.depth(prompt, gpu) == 4U);
  BOOST_TEST(at.depth({1, 2, 5, 6}) == 1U);
  at.store({11, 12}, {1, 2, 3, 4}, on(medium_id::cpu));
  BOOST_TEST(at.depth(prompt, cpu) == 3U);
}

BOOST_AUTO_TEST_CASE(what_another_tier_says_of_a_place_moves_nothing_behind_the_engine_s_own) {
  // Told by the connector first, when nobody could know better.
  stream at(registered(publisher_type::vllm));
  at.store({13}, {5, 6}, on(medium_id::cpu));
  at.store({11, 12, 13}, {1, 2, 3, 4, 5, 6});
  at.store({13}, {5, 6}, on(medium_id::disk));
  at.store({14}, {7, 8}, on(medium_id::gpu), 13);
  BOOST_TEST(at.depth(prompt, gpu) == 4U);
  BOOST_TEST(at.depth(prompt, mask_of(medium_id::disk)) == 0U);
  at.store({11, 12}, {1, 2, 3, 4}, on(medium_id::disk));
  BOOST_TEST(at.depth(prompt, mask_of(medium_id::disk)) == 3U);
}

BOOST_AUTO_TEST_CASE(the_tiers_of_an_engine_whose_names_are_of_contents_only_stay_apart) {
  // The same page twice in a prompt has one name: its second copy in host memory is not where the first one is on the device.
  stream at(registered(publisher_type::sglang));
  at.store({11, 12}, {1, 2, 3, 4});
  at.store({12}, {3, 4}, on(medium_id::cpu));
  BOOST_TEST(at.depth({3, 4}, cpu) == 1U);
  at.store({13}, {5, 6}, on(medium_id::gpu), 12);
  at.store({13}, {5, 6}, on(medium_id::cpu), 12);
  BOOST_TEST(at.depth({1, 2, 3, 4, 5, 6}, gpu) == 3U);  // each behind the parent on its own tier
  BOOST_TEST(at.depth({3, 4, 5, 6}, cpu) == 2U);
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
