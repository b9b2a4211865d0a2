// The life of a fleet as its coordinator hears of it, whose lane takes turns as chance has it: over sockets what lies between two turns is
// seen once in a thousand runs.
//
// KVC_PROPERTY_STREAMS sets how many lives are led, KVC_PROPERTY_SEED the first seed.
#include <cstdint>

#include <boost/test/unit_test.hpp>

#include "tests/support/net/fleet_stage.hpp"
#include "tests/support/net/heard_log.hpp"
#include "tests/support/setting.hpp"

BOOST_AUTO_TEST_SUITE(coordinator_lives)

BOOST_AUTO_TEST_CASE(whatever_comes_at_the_same_time_what_was_told_is_believed) {
  // Batches in slices, plans, the listing and restarts interleave in more ways than anybody thinks of.
  const std::uint64_t first = kvc::test::setting("KVC_PROPERTY_SEED", 2'024);
  const std::uint64_t lives = kvc::test::setting("KVC_PROPERTY_STREAMS", 10);
  BOOST_TEST_MESSAGE("seeds from " << first << ", " << lives << " lives");
  const kvc::test::heard_log log;
  for (std::uint64_t seed = first; seed < first + lives; ++seed) {
    kvc::test::fleet_stage one(seed, seed % 2 == 0);
    one.play();
    one.be_evicted();
    one.leave();
    BOOST_REQUIRE_MESSAGE(one.complaint().empty(), "seed " << seed << ": " << one.complaint());
  }
}

BOOST_AUTO_TEST_SUITE_END()
