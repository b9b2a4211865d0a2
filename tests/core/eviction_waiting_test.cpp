// The byte budget of the index and blocks that wait for their place.
#include <cstddef>
#include <cstdint>

#include <boost/test/unit_test.hpp>

#include "core/eviction.hpp"
#include "tests/support/eviction_stage.hpp"

namespace kvc::test {
BOOST_FIXTURE_TEST_SUITE(eviction_waiting, eviction_stage)

BOOST_AUTO_TEST_CASE(what_waits_pushes_no_block_out) {
  // An engine goes on with conversations whose beginnings nobody has heard of; somebody else's blocks answer queries.
  set_budget(400'000);
  hire(1, "quiet");
  hire(2, "talkative");
  for (std::uint64_t i = 0; i < 30; ++i) store(1, chain_of(i, 20));
  for (std::uint64_t i = 0; i < 10; ++i) store(2, chain_of(500 + i, 20));
  for (int round = 0; round < 100; ++round) budget->begin_round();
  BOOST_REQUIRE(used() <= budget->bytes());
  for (std::uint64_t i = 0; i < 2'000; ++i) store(2, chain_of(1'000 + i, 3), 1);
  BOOST_REQUIRE(used() > budget->bytes());
  (void)relieve();
  BOOST_TEST(used() <= budget->bytes());
  BOOST_TEST(actors.at(2).blocks->orphans() == 0U);
  BOOST_TEST(actors.at(2).given_up == 4'000U);
  BOOST_TEST(actors.at(1).evicted + actors.at(2).evicted == 0U);
  BOOST_TEST(!actors.at(1).was_warned);
  for (std::uint64_t i = 0; i < 30; ++i) BOOST_TEST(depth(1, chain_of(i, 20)) == 20U);
}

BOOST_AUTO_TEST_CASE(what_waits_may_wait_within_the_budget) {
  set_budget(400'000);
  hire(1);
  store(1, chain_of(1, 20));
  for (std::uint64_t i = 0; i < 100; ++i) store(1, chain_of(1'000 + i, 2), 1);
  BOOST_TEST(relieve() == 0U);
  BOOST_TEST(actors.at(1).blocks->orphans() == 100U);
}

BOOST_AUTO_TEST_CASE(blocks_go_as_well_where_those_that_wait_do_not_make_room_enough) {
  // Some come to wait between any two passes, which does not keep what is used young from going at last.
  set_budget(200'000);
  hire(1);
  for (std::uint64_t i = 0; i < 400; ++i) store(1, chain_of(i, 20));
  std::size_t passes = 0;
  for (;; ++passes) {
    store(1, chain_of(1'000 + passes, 2), 1);
    (void)used();
    if (!budget->is_evicting()) break;
    BOOST_REQUIRE(passes < 1'000);
    for (const std::size_t lane : {0U, 1U}) {
      const auto pass = budget->pass_for(lane);
      BOOST_REQUIRE(pass);
      make_part(lane, *pass, 7);
      (void)budget->finish(lane, *pass);
    }
  }
  BOOST_TEST(used() <= budget->bytes());
  BOOST_TEST(used() >= budget->bytes() / 2);
  BOOST_TEST(actors.at(1).evicted != 0U);
  BOOST_TEST(actors.at(1).given_up != 0U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kvc::test
